package web

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"

	"redrain/docs"
)

// Options configure the pages.
type Options struct {
	// SignIn returns the address at which the console exchanges an identity provider's code, or "" while it is unknown.
	// Nil: there is no provider.
	SignIn func() string
	// Ancestors are the origins whose pages may show the player's page in a frame; "*": all.
	Ancestors []string
	// Widget are the origins of the challenge widget for guests on the player's page, as a Content-Security-Policy
	// names them. Empty: there is no widget.
	Widget []string
	// PublicURL is the server's address from outside, without a slash at its end. A link's preview in a chat needs full
	// addresses, which a request's Host must not decide. "": paths only.
	PublicURL string
	// Images are origins of pictures of players, as a Content-Security-Policy names them, on the player's page and the
	// big screen.
	Images []string
	// WeChat configures the preview of a link in WeChat. With the zero value, WeChat makes the preview.
	WeChat WeChat
	// Files are text files of the operator's that are served below "/", by their names.
	Files map[string][]byte
}

// Handler serves the pages and their files:
//
//	/  /screen  /console  /docs      the pages
//	/docs/openapi.yaml  /docs/asyncapi.yaml
//	/assets/…                        scripts, style sheets and pictures, each with the hash of its content in its
//	                                 name; with the hash of another version, this version's
//	/sdk/redrain.js                  the client's library, which pages of any origin may load
//	/sdk/redrain.d.ts                its types
//	/sdk/faces/koi.svg and others    the pictures of guests
//	/sdk/example                     a page that plays with it
//	/app.webmanifest                 the player's page as an app on a home screen, in the requested language
//	/licenses.txt                    the licences of the libraries in the scripts
//	/favicon.ico
//
// It serves Options.Files beside them. A page's address with a slash at its end redirects to the page. Everything else
// is 404, and every method but GET and HEAD is 405. Mount it on "/" beside the more specific routes of the server. The
// answers are prepared once, here; a request only picks one.
func Handler(o Options) http.Handler {
	dist := built()
	m := readManifest(dist[bundleManifest])
	delete(dist, bundleManifest)
	pages := buildPages(m, o)
	files := map[string]*file{
		"/":                   pages["index.html"],
		"/screen":             pages["screen.html"],
		"/console":            pages["console.html"],
		"/docs":               pages["docs.html"],
		"/docs/openapi.yaml":  newFile("openapi.yaml", docs.OpenAPI),
		"/docs/asyncapi.yaml": newFile("asyncapi.yaml", docs.AsyncAPI),
	}
	for name, data := range dist {
		files["/"+name] = newFile(name, data)
	}
	byName := map[string]*file{} // those with a hash in their name, by the name without it
	for name, path := range m {
		current := *files[path]
		byName[name] = &current
		files[path].immutable = true
	}
	maps.Copy(files, sdkFiles(dist["sdk/redrain.js"]))
	for name, text := range o.Files {
		files["/"+name] = newFile(name, text)
	}
	app := appManifests(m)
	files["/favicon.ico"] = newFile("packet.svg", dist[m["packet.svg"][1:]])
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := files[r.URL.Path]
		if r.URL.Path == appManifest {
			f, ok = app[languageOf(r.Header.Get("Accept-Language"))], true
			w.Header().Set("Vary", "Accept-Language")
		}
		if hashed := hashedPath.FindStringSubmatch(r.URL.Path); !ok && hashed != nil {
			// In a rolling update the page may be of a node with another version.
			f, ok = byName[hashed[1]+hashed[2]]
		}
		secure(w.Header(), f)
		w.Header().Set("Content-Security-Policy", o.policy(r.URL.Path, r.Host, f).String())
		switch {
		case !ok && slashed[r.URL.Path] == "":
			http.Error(w, "Page not found.", http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Pages are read with GET.", http.StatusMethodNotAllowed)
		case !ok:
			to := url.URL{Path: slashed[r.URL.Path], RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, to.String(), http.StatusPermanentRedirect)
		default:
			f.serve(w, r)
		}
	})
}

// hashedPath matches the path of an asset of any version: its name without the hash, and the extension.
var hashedPath = regexp.MustCompile(`^/assets/([\w-]+)-\w{8}(\.\w+)$`)

// slashed are the addresses of pages as some people type them, and the pages that they mean.
var slashed = map[string]string{"/screen/": "/screen", "/console/": "/console", "/docs/": "/docs"}

// bundleManifest is the name of bundle.Manifest: the program itself does without package bundle, and so without a
// compiler in it.
const bundleManifest = "manifest.json"

// secure sets the headers that all answers share. f is the requested file, or nil if there is none.
func secure(h http.Header, f *file) {
	if f != nil && f.anyOrigin {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}
