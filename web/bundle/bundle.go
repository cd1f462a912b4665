// Package bundle makes what the browsers load out of the sources of the pages: TypeScript becomes one script for
// each page, style sheets one for each page, and every file in assets/ gets a name with a hash of its content, so that
// it may be cached for ever.
//
// It is esbuild (https://esbuild.github.io) as a Go library: no Node.js, and the same bytes on every machine, which
// a test compares with what is committed in web/dist.
package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// entries are the sources that become a script or a style sheet each, together with all that they import.
var entries = []api.EntryPoint{
	{InputPath: "src/play/main.ts", OutputPath: "play"},
	{InputPath: "src/screen/main.tsx", OutputPath: "screen"},
	{InputPath: "src/console/main.tsx", OutputPath: "console"},
	{InputPath: "src/docs/docs.css", OutputPath: "docs"},
	{InputPath: "src/work/main.ts", OutputPath: "work"},
}

const (
	// Manifest is the file that tells the path of each of the others: {"play.js":
	// "/assets/play-ABCD.js"}.
	Manifest = "manifest.json"
	// SDK is the client's library. Its name has no hash: others link to it.
	SDK = "sdk/redrain.js"
	// Licenses is the file with the licences of the libraries that are in the scripts.
	Licenses = "licenses.txt"
)

// Build makes all files of web/dist from the sources in dir, the folder web. They come by their path below dist.
func Build(dir string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	pictures, err := hashed(filepath.Join(dir, "img"))
	if err != nil {
		return nil, err
	}
	files, served := map[string][]byte{}, map[string]string{}
	for name, p := range pictures {
		files[p.path] = p.data
		served[name] = "/" + p.path
	}
	pages := options(dir, served)
	pages.EntryPointsAdvanced = entries
	pages.EntryNames = "assets/[name]-[hash]"
	built, err := run(pages)
	if err != nil {
		return nil, err
	}
	for name, data := range built {
		logical := unhashed(name)
		if _, twice := served[logical]; twice {
			return nil, fmt.Errorf("two files are called %s", logical)
		}
		files[name], served[logical] = data, "/"+name
	}
	sdk := options(dir, nil)
	sdk.EntryPointsAdvanced = []api.EntryPoint{{InputPath: "sdk/index.ts", OutputPath: strings.TrimSuffix(SDK, ".js")}}
	library, err := run(sdk)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, library)
	if files[Licenses], err = licenses(filepath.Join(dir, "third_party")); err != nil {
		return nil, err
	}
	manifest, err := json.MarshalIndent(served, "", "  ")
	if err != nil {
		return nil, err
	}
	files[Manifest] = append(manifest, '\n')
	return files, nil
}

// Script bundles one source into one script, for a test of the modules that it imports.
func Script(dir, entry string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	o := options(dir, map[string]string{})
	o.EntryPointsAdvanced = []api.EntryPoint{{InputPath: entry, OutputPath: "script"}}
	built, err := run(o)
	return built["script.js"], err
}

// options are common to all scripts. pictures are the paths under which the files of web/img are served.
func options(dir string, pictures map[string]string) api.BuildOptions {
	return api.BuildOptions{
		AbsWorkingDir: dir,
		Outdir:        filepath.Join(dir, "dist"),
		Tsconfig:      filepath.Join(dir, "tsconfig.json"),
		Bundle:        true,
		Format:        api.FormatESModule,
		// Browsers of 2022 and later, as the README says: class fields, top-level await, dialog.
		Target: api.ES2022,
		Engines: []api.Engine{{Name: api.EngineSafari, Version: "15.4"},
			{Name: api.EngineChrome, Version: "100"}, {Name: api.EngineFirefox, Version: "100"}},
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsNone, // they are in licenses.txt
		Charset:           api.CharsetUTF8,
		Plugins:           []api.Plugin{picturesPlugin(pictures)},
		LogLevel:          api.LogLevelSilent,
	}
}

func run(o api.BuildOptions) (map[string][]byte, error) {
	r := api.Build(o)
	if len(r.Errors)+len(r.Warnings) > 0 {
		var all []error
		for _, m := range append(r.Errors, r.Warnings...) {
			text := m.Text
			if l := m.Location; l != nil {
				text = fmt.Sprintf("%s:%d:%d: %s", l.File, l.Line, l.Column, text)
			}
			all = append(all, errors.New(text))
		}
		return nil, errors.Join(all...)
	}
	files := make(map[string][]byte, len(r.OutputFiles))
	for _, f := range r.OutputFiles {
		name, err := filepath.Rel(o.Outdir, f.Path)
		if err != nil {
			return nil, err
		}
		files[filepath.ToSlash(name)] = f.Contents
	}
	return files, nil
}

// unhashed is the name of a file of ours without its folder and hash: assets/play-ABCD.js is play.js.
func unhashed(name string) string {
	base, ext := path.Base(name), path.Ext(name)
	return base[:strings.LastIndexByte(base, '-')] + ext
}
