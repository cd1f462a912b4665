// Package bundle builds the files that browsers load from the sources of the pages. TypeScript becomes one script for
// each page, and style sheets one for each page. Every file in assets/ gets a name with a hash of its content, so that
// it may be cached for ever.
//
// It is esbuild (https://esbuild.github.io) as a Go library, without Node.js. The bytes are the same on every machine,
// and a test compares them with the committed web/dist.
package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Browsers are the oldest versions that something is made for.
type Browsers struct{ IOS, Safari, Chrome, Firefox string }

var (
	// Phones are the players' browsers, above all the one inside WeChat.
	Phones = Browsers{IOS: "14.5", Safari: "14.1", Chrome: "87", Firefox: "90"}
	// Desks are for the console and the big screen, whose machines the organizer chooses.
	Desks = Browsers{IOS: "16", Safari: "16", Chrome: "105", Firefox: "113"}
)

// group has sources that become a script or a style sheet each, together with all that they import.
type group struct {
	browsers Browsers
	entries  []api.EntryPoint
}

var (
	modules = []group{
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
	// old is the script for older browsers, which reports that they are too old. It is written in ES5 and is no module.
	old = group{Phones, []api.EntryPoint{{InputPath: "src/old/main.js", OutputPath: "old"}}}
	sdk = group{Phones, []api.EntryPoint{{InputPath: "sdk/index.ts", OutputPath: "sdk/redrain"}}}
)

const (
	// Manifest is the file with the paths of all others: {"play.js": "/assets/play-ABCD.js"}.
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
	ancient := options(dir, served, old)
	ancient.Engines, ancient.Target, ancient.Format = nil, api.ES5, api.FormatIIFE
	for _, o := range []api.BuildOptions{options(dir, served, modules[0]), options(dir, served, modules[1]), ancient} {
		o.EntryNames = "assets/[name]-[hash]"
		built, err := run(o)
		if err != nil {
			return nil, err
		}
		for name, data := range built { // assets/play-ABCD.js is called play.js
			base, ext := path.Base(name), path.Ext(name)
			files[name], served[base[:strings.LastIndexByte(base, '-')]+ext] = data, "/"+name
		}
	}
	library, err := run(options(dir, nil, sdk))
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

// Package makes the files of the client's library for npm, by their names. They are the script with its source map,
// the types, and the texts of web/sdk with the version in place of 0.0.0.
func Package(dir, version string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	o := options(dir, nil, group{Phones, []api.EntryPoint{{InputPath: "sdk/index.ts", OutputPath: "redrain"}}})
	o.MinifyWhitespace, o.MinifyIdentifiers, o.MinifySyntax = false, false, false // the adopter's bundler does that
	o.Sourcemap = api.SourceMapLinked
	files, err := run(o)
	if err != nil {
		return nil, err
	}
	for name, source := range map[string]string{"package.json": "sdk/npm.json", "README.md": "sdk/README.md",
		"redrain.d.ts": "sdk/redrain.d.ts", "LICENSE": "../LICENSE"} {
		data, err := os.ReadFile(filepath.Join(dir, source)) //nolint:gosec // our own sources
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	files["package.json"] = bytes.Replace(files["package.json"], []byte("0.0.0"), []byte(version), 1)
	return files, nil
}

// Script bundles one source into one script, for a test of the modules that it imports.
func Script(dir, entry string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	built, err := run(options(dir, nil, group{Phones, []api.EntryPoint{{InputPath: entry, OutputPath: "script"}}}))
	return built["script.js"], err
}

// options are common to all scripts. pictures are the paths under which the files of web/img are served.
func options(dir string, pictures map[string]string, g group) api.BuildOptions {
	least := g.browsers
	return api.BuildOptions{
		EntryPointsAdvanced: g.entries,
		AbsWorkingDir:       dir,
		Outdir:              filepath.Join(dir, "dist"),
		Tsconfig:            filepath.Join(dir, "tsconfig.json"),
		Bundle:              true,
		Format:              api.FormatESModule,
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

// picture is a file that is served as it is, under a name with a hash.
type picture struct {
	path string // below dist
	data []byte
}

// hashed reads the pictures of a folder, by their name.
func hashed(dir string) (map[string]picture, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := make(map[string]picture, len(entries))
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name())) //nolint:gosec // our own sources
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		ext := filepath.Ext(e.Name())
		name := fmt.Sprintf("assets/%s-%s%s", strings.TrimSuffix(e.Name(), ext), hex.EncodeToString(sum[:4]), ext)
		found[e.Name()] = picture{path: name, data: data}
	}
	return found, nil
}

// picturesPlugin lets a script import a picture's address: import packet from "../../img/packet.svg".
func picturesPlugin(served map[string]string) api.Plugin {
	return api.Plugin{Name: "pictures", Setup: func(b api.PluginBuild) {
		b.OnLoad(api.OnLoadOptions{Filter: `\.svg$`}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			address, ok := served[path.Base(filepath.ToSlash(args.Path))]
			if !ok {
				return api.OnLoadResult{}, fmt.Errorf("%s is not in web/img", args.Path)
			}
			script, err := json.Marshal(address)
			text := "export default " + string(script)
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, err
		})
	}}
}

// licenses puts the licences of the vendored libraries into one text, as they ask for.
func licenses(dir string) ([]byte, error) {
	vendored := os.DirFS(dir)
	found, err := fs.Glob(vendored, "*/LICENSE")
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	out.WriteString("The pages of redrain contain these libraries.\n")
	for _, file := range found { // Glob sorts
		library := path.Dir(file)
		var about struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			License string `json:"license"`
		}
		description, err := fs.ReadFile(vendored, path.Join(library, "package.json"))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(description, &about); err != nil {
			return nil, fmt.Errorf("%s: %w", library, err)
		}
		text, err := fs.ReadFile(vendored, file)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "\n%s %s (%s)\n\n%s\n", about.Name, about.Version, about.License,
			strings.TrimSpace(string(text)))
	}
	return []byte(out.String()), nil
}
