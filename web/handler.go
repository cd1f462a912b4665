package web

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"redrain/docs"
)

// Options are what the pages depend on.
type Options struct {
	// SignIn is the address at which the console exchanges what an identity provider has sent somebody back with; ""
	// while it is not known. Nil: there is no provider.
	SignIn func() string
	// Widget are the origins of the widget that guests may have to do on the player's page, as a
	// Content-Security-Policy names them; none: there is no widget.
	Widget []string
	// PublicURL is where the server is reached from outside, without a slash at its end. What chats show beside a link
	// is named by full addresses, which a request's Host must not decide. "": paths only.
	PublicURL string
	// Images are origins of pictures of players, as a Content-Security-Policy names them, on the player's page and the
	// big screen.
	Images []string
	// Files are text files of the operator's that are served below "/", by their names.
	Files map[string][]byte
}

// Handler serves the pages and what they are made of:
//
//	/  /screen  /console  /docs      the pages
//	/docs/openapi.yaml  /docs/asyncapi.yaml
//	/assets/…                        scripts, style sheets and pictures, each with the hash of its content in its name
//	/sdk/redrain.js                  the client's library, which pages of any origin may load
//	/sdk/redrain.d.ts                its types
//	/sdk/example                     a page that plays with it
//	/app.webmanifest                 what the player's page is on a home screen, in the language that is asked for
//	/licenses.txt                    the licences of the libraries in the scripts
//	/favicon.ico
//
// and beside them Options.Files. Everything else is 404, and every method but GET and HEAD is 405. Mount it on "/"
// beside the more specific routes of the server. The answers are prepared once, here; a request only picks one.
func Handler(o Options) http.Handler {
	dist := built()
	m := readManifest(dist[bundleManifest])
	delete(dist, bundleManifest)
	pages := buildPages(m, o.PublicURL)
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
	for _, path := range m {
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
			f, ok = app[language(r.Header.Get("Accept-Language"))], true
			w.Header().Set("Vary", "Accept-Language")
		}
		secure(w.Header(), r.Host, f)
		if r.URL.Path == "/console" && o.SignIn != nil {
			allowConnect(w.Header(), o.SignIn())
		}
		if (r.URL.Path == "/" || r.URL.Path == "/screen") && len(o.Images) > 0 {
			allowImages(w.Header(), strings.Join(o.Images, " "))
		}
		if r.URL.Path == "/" && len(o.Widget) > 0 {
			allowWidget(w.Header(), strings.Join(o.Widget, " "))
		}
		switch {
		case !ok:
			http.Error(w, "There is no such page.", http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Pages are read with GET.", http.StatusMethodNotAllowed)
		default:
			f.serve(w, r)
		}
	})
}

// bundleManifest is the name of bundle.Manifest: the program itself does without package bundle, and so without a
// compiler in it.
const bundleManifest = "manifest.json"

// hostPattern is what a Host header may look like to be repeated in a header of ours.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?$`)

// allowConnect lets a page's scripts talk to the origin of an address, too.
func allowConnect(h http.Header, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || !hostPattern.MatchString(u.Host) {
		return
	}
	const policy, connect = "Content-Security-Policy", "connect-src "
	h.Set(policy, strings.Replace(h.Get(policy), connect, connect+u.Scheme+"://"+u.Host+" ", 1))
}

// allowWidget lets a page load a widget's script, which makes frames and styles of its own.
func allowWidget(h http.Header, origins string) {
	const policy = "Content-Security-Policy"
	is := strings.NewReplacer("script-src ", "script-src "+origins+" ", "connect-src ", "connect-src "+origins+" ").
		Replace(h.Get(policy))
	h.Set(policy, is+"; frame-src "+origins+"; style-src 'self' "+origins)
}

// allowImages lets a page show pictures of other hosts.
func allowImages(h http.Header, origins string) {
	const policy = "Content-Security-Policy"
	h.Set(policy, h.Get(policy)+"; img-src 'self' "+origins)
}

// secure sets the headers that all answers share. The socket is named by its full origin, because some browsers do not
// count ws: and wss: as 'self'. f is the file that is asked for; nil where there is none.
func secure(h http.Header, host string, f *file) {
	connect := "'self'"
	if hostPattern.MatchString(host) {
		connect += " ws://" + host + " wss://" + host
	}
	script := "'self'"
	if f != nil && f.inline != "" {
		script += " " + f.inline
	}
	if f != nil && f.anyOrigin {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'self'", "img-src 'self' data:", "script-src " + script, "connect-src " + connect,
		"object-src 'none'", "base-uri 'none'",
		"form-action 'self'", "frame-ancestors 'self'",
	}, "; "))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}
