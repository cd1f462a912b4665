package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"

	"golang.org/x/text/language"
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

// manifest has the path at which each file is served: play.js is /assets/play-ABCD.js.
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

// appManifest is the address of the web app manifest, which browsers read for an icon on a home screen.
const appManifest = "/app.webmanifest"

// The page's languages.
const (
	chinese = "zh-CN"
	english = "en"
)

// night is the colour of the player's page around everything, as its style sheet has it.
const night = "#3a0a1c"

// appManifests are the manifests of the player's page, by language.
func appManifests(m manifest) map[string]*file {
	var icons []map[string]string
	// The drawing has nothing that matters outside the circle that a phone may cut out of it.
	for _, purpose := range []string{"any", "maskable"} {
		for _, size := range []string{"192", "512"} {
			icons = append(icons, map[string]string{"src": m["icon-"+size+".png"], "sizes": size + "x" + size,
				"type": contentTypes[".png"], "purpose": purpose})
		}
	}
	files := map[string]*file{}
	for language, words := range map[string][3]string{
		chinese: {"红包雨", "红包雨", "红包从天而降，手快有手慢无"},
		english: {"Red packet rain", "Packets", "Red packets fall from the sky. Be quick and they’re yours"},
	} {
		text, err := json.Marshal(map[string]any{
			"id": "/", "name": words[0], "short_name": words[1], "description": words[2], "lang": language,
			"start_url": "/", "scope": "/", "display": "standalone", "background_color": night, "theme_color": night,
			"icons": icons,
		})
		must(err)
		files[language] = newFile(appManifest, text)
	}
	return files
}

var languages = language.NewMatcher([]language.Tag{language.English, language.Chinese})

// languageOf is the one of the page's that an Accept-Language prefers; English where it names neither.
func languageOf(accept string) string {
	if _, at := language.MatchStrings(languages, accept); at == 1 {
		return chinese
	}
	return english
}

//go:embed sdk/redrain.d.ts
var sdkTypes []byte

//go:embed sdk/example.html
var sdkExample []byte

// sdkFaces are the pictures of guests, by their ids.
//
//go:embed sdk/faces
var sdkFaces embed.FS

// sdkFiles are the client's library, for pages of this and of other servers, with an example and the pictures of
// guests. script is the bundled library.
func sdkFiles(script []byte) map[string]*file {
	library, types, example := newFile("redrain.js", script), newFile("redrain.d.ts", sdkTypes),
		newFile("example.html", sdkExample)
	library.anyOrigin, types.anyOrigin = true, true
	example.inline = inlineScript(sdkExample)
	files := map[string]*file{"/sdk/redrain.js": library, "/sdk/redrain.d.ts": types, "/sdk/example": example}
	faces, err := sdkFaces.ReadDir("sdk/faces")
	must(err)
	for _, face := range faces {
		picture, err := sdkFaces.ReadFile("sdk/faces/" + face.Name())
		must(err)
		f := newFile(face.Name(), picture)
		f.immutable, f.anyOrigin = true, true // another picture gets another id
		files["/sdk/faces/"+face.Name()] = f
	}
	return files
}

var scriptPattern = regexp.MustCompile(`(?s)<script type="module">(.*?)</script>`)

// inlineScript is the source expression that lets a page's one inline script run, and no other.
func inlineScript(html []byte) string {
	m := scriptPattern.FindSubmatch(html)
	if m == nil {
		panic("web: the example has no script")
	}
	sum := sha256.Sum256(m[1])
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
