package web

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
)

// content is the documents, and what package bundle has made of the sources.
//
//go:embed pages dist
var content embed.FS

// built is every file below dist/, by its path.
func built() map[string][]byte {
	dist, err := fs.Sub(content, "dist")
	must(err)
	found := map[string][]byte{}
	must(fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found[name], err = fs.ReadFile(dist, name)
		return err
	}))
	return found
}

// must panics at a fault of the embedded files. It is the same at every start, so a test meets it.
func must(err error) {
	if err != nil {
		panic("web: the embedded files are invalid: " + err.Error())
	}
}

// manifest tells under which path a file is served: play.js is /assets/play-ABCD.js.
type manifest map[string]string

func readManifest(data []byte) (m manifest) {
	must(json.Unmarshal(data, &m))
	return m
}

// asset is a function of the pages' templates.
func (m manifest) asset(name string) (string, error) {
	served, ok := m[name]
	if !ok {
		return "", fmt.Errorf("there is no %s; run go generate . at the root", name)
	}
	return served, nil
}

// buildPages makes each page from its template in pages/.
func buildPages(m manifest, o Options) map[string]*file {
	t := template.New("").Funcs(template.FuncMap{
		"asset": m.asset, "public": func() string { return o.PublicURL }, "wechat": func() WeChat { return o.WeChat },
	})
	t = template.Must(t.ParseFS(content, "pages/*.html"))
	pages := map[string]*file{}
	for _, p := range t.Templates() {
		if path.Ext(p.Name()) != ".html" {
			continue
		}
		var data any
		if p.Name() == "docs.html" {
			data = describe()
		}
		var out bytes.Buffer
		must(p.Execute(&out, data))
		pages[p.Name()] = newFile(p.Name(), out.Bytes())
	}
	return pages
}
