package web

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed pages assets
var content embed.FS

// assets is every file below assets/, by its path.
func assets() map[string][]byte {
	found := map[string][]byte{}
	err := fs.WalkDir(content, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found[name], err = content.ReadFile(name)
		return err
	})
	if err != nil {
		panic("web: the embedded files cannot be read: " + err.Error())
	}
	return found
}

// buildPages makes each page from its template in pages/.
func buildPages() map[string]*file {
	t := template.New("").Funcs(template.FuncMap{"preload": preload})
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
		if err := p.Execute(&out, data); err != nil {
			panic("web: " + err.Error()) // the same at every start: a test would have met it
		}
		pages[p.Name()] = newFile(p.Name(), out.Bytes())
	}
	return pages
}

// preload lists the modules that a page's script needs, so that the browser fetches them all at once and not one level of
// imports after the other.
func preload(script string) template.HTML {
	var out strings.Builder
	for _, m := range modules(strings.TrimPrefix(script, "/")) {
		out.WriteString(`<link rel="modulepreload" href="/` + m + `">` + "\n")
	}
	return template.HTML(out.String()) //nolint:gosec // names of our own embedded files
}

var importPattern = regexp.MustCompile(`(?m)^(?:import|export)\b[^;"]*"(\.[^"]+)";`)

// modules is every module that a script imports, directly or not, in the order of their names.
func modules(script string) []string {
	var found []string
	todo := []string{script}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		source, err := content.ReadFile(name)
		if err != nil {
			panic("web: a script imports a file that is not there: " + err.Error())
		}
		for _, m := range importPattern.FindAllSubmatch(source, -1) {
			next := path.Join(path.Dir(name), string(m[1]))
			if next != script && !slices.Contains(found, next) {
				found = append(found, next)
				todo = append(todo, next)
			}
		}
	}
	slices.Sort(found)
	return found
}
