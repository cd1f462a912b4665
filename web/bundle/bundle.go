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

// Browsers are the oldest versions that something is made for.
type Browsers struct{ IOS, Safari, Chrome, Firefox string }

var (
	// Phones are for what players open, above all what WeChat shows pages in.
	Phones = Browsers{IOS: "14.5", Safari: "14.1", Chrome: "87", Firefox: "90"}
	// Desks are for the console and the big screen, whose machines the organizer chooses.
	Desks = Browsers{IOS: "16", Safari: "16", Chrome: "105", Firefox: "113"}
)

// groups are the sources that become a script or a style sheet each, together with all that they import.
var groups = []struct {
	browsers Browsers
	entries  []api.EntryPoint
}{
	{Phones, []api.EntryPoint{
		{InputPath: "src/play/main.ts", OutputPath: "play"},
		{InputPath: "src/work/main.ts", OutputPath: "work"},
		{InputPath: "src/late/main.ts", OutputPath: "late"},
		{InputPath: "src/wechat/main.ts", OutputPath: "wechat"},
	}},
	{Desks, []api.EntryPoint{
		{InputPath: "src/screen/main.tsx", OutputPath: "screen"},
		{InputPath: "src/console/main.tsx", OutputPath: "console"},
		{InputPath: "src/docs/docs.css", OutputPath: "docs"},
	}},
}

// old is what runs in browsers of before those, and says so: written in ES5, and a script that is no module.
var old = api.EntryPoint{InputPath: "src/old/main.js", OutputPath: "old"}

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
	built, err := pages(dir, served)
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
	sdk := options(dir, nil, Phones)
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

// pages makes the scripts and style sheets of the pages, each for the browsers of those who open it.
func pages(dir string, pictures map[string]string) (map[string][]byte, error) {
	var all []api.BuildOptions
	for _, g := range groups {
		o := options(dir, pictures, g.browsers)
		o.EntryPointsAdvanced = g.entries
		all = append(all, o)
	}
	ancient := options(dir, pictures, Phones)
	ancient.EntryPointsAdvanced = []api.EntryPoint{old}
	ancient.Engines, ancient.Target, ancient.Format = nil, api.ES5, api.FormatIIFE
	files := map[string][]byte{}
	for _, o := range append(all, ancient) {
		o.EntryNames = "assets/[name]-[hash]"
		built, err := run(o)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, built)
	}
	return files, nil
}

// Script bundles one source into one script, for a test of the modules that it imports.
func Script(dir, entry string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	o := options(dir, map[string]string{}, Phones)
	o.EntryPointsAdvanced = []api.EntryPoint{{InputPath: entry, OutputPath: "script"}}
	built, err := run(o)
	return built["script.js"], err
}

// options are common to all scripts. pictures are the paths under which the files of web/img are served.
func options(dir string, pictures map[string]string, least Browsers) api.BuildOptions {
	return api.BuildOptions{
		AbsWorkingDir: dir,
		Outdir:        filepath.Join(dir, "dist"),
		Tsconfig:      filepath.Join(dir, "tsconfig.json"),
		Bundle:        true,
		Format:        api.FormatESModule,
		Engines: []api.Engine{{Name: api.EngineSafari, Version: least.Safari},
			{Name: api.EngineIOS, Version: least.IOS},
			{Name: api.EngineChrome, Version: least.Chrome}, {Name: api.EngineFirefox, Version: least.Firefox}},
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
