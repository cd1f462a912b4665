package web_test

import (
	"compress/gzip"
	"encoding/json"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"redrain/docs"
	"redrain/internal/testenv"
	"redrain/web"
)

// handler is made once: it compresses everything.
var handler = sync.OnceValue(func() http.Handler { return web.Handler(web.Options{}) })

func get(t *testing.T, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	b := testenv.Got(io.ReadAll(r.Body)).Must(t)
	return string(b)
}

// asset is the path under which a page's script or style sheet is served.
func asset(t *testing.T, name string) string {
	t.Helper()
	base, ext, _ := strings.Cut(name, ".")
	found := regexp.MustCompile(`/assets/` + base + `-\w+\.` + ext).FindString(bodyOf(t, get(t, "/")))
	if found == "" {
		t.Fatalf("the player's page does not name %s", name)
	}
	return found
}

var pages = []string{"/", "/screen", "/console", "/docs"}

func TestDescriptionsAreServedAsTheyAre(t *testing.T) {
	for path, want := range map[string][]byte{"/docs/openapi.yaml": docs.OpenAPI,
		"/docs/asyncapi.yaml": docs.AsyncAPI} {
		if r := get(t, path); bodyOf(t, r) != string(want) ||
			!strings.HasPrefix(r.Header.Get("Content-Type"), "application/yaml") {
			t.Errorf("%s: %s %s", path, r.Status, r.Header.Get("Content-Type"))
		}
	}
}

func TestOtherPathsAndMethods(t *testing.T) {
	for _, path := range []string{"/nothing", "/assets/", "/assets/js", "/assets/../handler.go", "/pages/index.html",
		"//console/", "/licenses.txt/"} {
		if r := get(t, path); r.StatusCode != http.StatusNotFound ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	w = httptest.NewRecorder()
	handler().ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/", nil))
	if w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD /: %d, %d bytes", w.Code, w.Body.Len())
	}
}

// TestASlashAtTheEnd: who types an address may end it with a slash, and comes to the page with all the rest of it.
func TestASlashAtTheEnd(t *testing.T) {
	for path, want := range map[string]string{
		"/console/": "/console", "/docs/": "/docs",
		"/screen/?lang=both&name=%E5%B9%B4": "/screen?lang=both&name=%E5%B9%B4",
	} {
		r := get(t, path)
		if r.StatusCode != http.StatusPermanentRedirect || r.Header.Get("Location") != want ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s, %v", path, r.Status, r.Header)
		}
	}
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/console/", nil))
	testenv.Equal(t, w.Code, http.StatusMethodNotAllowed, "POST /console/")
}

func TestSecurityHeaders(t *testing.T) {
	csp := func(host string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		handler().ServeHTTP(w, r)
		testenv.Equal(t, w.Header().Get("X-Content-Type-Options"), "nosniff", "sniffing is not refused")
		return w.Header().Get("Content-Security-Policy")
	}
	if got := csp("[::1]:8080"); strings.Contains(got, "unsafe") ||
		!strings.Contains(got, "connect-src 'self' ws://[::1]:8080 wss://[::1]:8080;") {
		t.Error(got)
	}
	for _, host := range []string{"evil; script-src *", "a b", "*", ""} {
		if got := csp(host); !strings.Contains(got, "connect-src 'self';") {
			t.Errorf("the host %q got into the policy: %s", host, got)
		}
	}
}

// TestCaching: a page is requested each time, so that a new server never meets an old page. A file with a hash in its
// name is cached for a year.
func TestCaching(t *testing.T) {
	for path, want := range map[string]string{
		"/": "no-cache", "/console": "no-cache", "/sdk/redrain.js": "no-cache", "/favicon.ico": "no-cache",
		asset(t, "play.js"):  "public, max-age=31536000, immutable",
		asset(t, "play.css"): "public, max-age=31536000, immutable",
	} {
		testenv.Equal(t, get(t, path).Header.Get("Cache-Control"), want, "%s: Cache-Control", path)
	}
}

// TestAssetsOfAnotherVersion: in a rolling update a page of one node loads its script from a node of another version.
// It gets this version's, which no cache keeps under that name.
func TestAssetsOfAnotherVersion(t *testing.T) {
	for _, name := range []string{"play.js", "play.css"} {
		current := asset(t, name)
		base, ext, _ := strings.Cut(name, ".")
		other := get(t, "/assets/"+base+"-ABCD1234."+ext)
		testenv.Equal(t, bodyOf(t, other), bodyOf(t, get(t, current)), "%s of another version", name)
		testenv.Equal(t, other.Header.Get("Cache-Control"), "no-cache", "%s: Cache-Control", name)
	}
	testenv.Equal(t, get(t, "/assets/gone-ABCD1234.js").StatusCode, http.StatusNotFound, "an unknown asset")
}

func TestRevalidation(t *testing.T) {
	for _, encoding := range []string{"", "gzip"} {
		first := get(t, asset(t, "play.js"), "Accept-Encoding", encoding)
		etag := first.Header.Get("ETag")
		if first.Header.Get("Vary") != "Accept-Encoding" || !strings.HasPrefix(etag, `"`) {
			t.Errorf("%q: %v", encoding, first.Header)
		}
		for _, tag := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
			if r := get(t, asset(t, "play.js"), "Accept-Encoding", encoding, "If-None-Match",
				tag); r.StatusCode != http.StatusNotModified {
				t.Errorf("%q, If-None-Match %s: %s", encoding, tag, r.Status)
			}
		}
		if r := get(t, asset(t, "play.js"), "Accept-Encoding", encoding, "If-None-Match",
			`"other"`); r.StatusCode != http.StatusOK {
			t.Errorf("%q, another tag: %s", encoding, r.Status)
		}
	}
}

func TestCompression(t *testing.T) {
	plain := get(t, asset(t, "play.css"))
	if plain.Header.Get("Content-Encoding") != "" {
		t.Fatal("compressed for who did not ask")
	}
	for accept, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.8": "gzip", "gzip;q=0": "", "br": "",
		"identity": ""} {
		r := get(t, asset(t, "play.css"), "Accept-Encoding", accept)
		testenv.Equal(t, r.Header.Get("Content-Encoding"), want, "Accept-Encoding %q", accept)
	}
	zr := testenv.Got(gzip.NewReader(get(t, asset(t, "play.css"), "Accept-Encoding", "gzip").Body)).Must(t)
	testenv.Equal(t, string(testenv.Got(io.ReadAll(zr)).Must(t)), bodyOf(t, plain),
		"the compressed file is another one")
}

var (
	linkPattern   = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	inlinePattern = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:[^>]*)>[^<]|javascript:`)
	foreign       = regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9-]+\.[a-z]{2,}`)
)

// TestPagesNeedNothingElse: this server serves every address in a page, and nothing comes from another host. Nothing is
// inline that the policy would refuse.
func TestPagesNeedNothingElse(t *testing.T) {
	for _, page := range pages {
		answer := get(t, page)
		html := bodyOf(t, answer)
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.HasPrefix(html, "<!doctype html>") {
			t.Errorf("%s: %s %v %.40q", page, answer.Status, answer.Header, html)
		}
		testenv.Equal(t, inlinePattern.FindString(html), "", "%s: inline code or style", page)
		for _, m := range linkPattern.FindAllStringSubmatch(html, -1) {
			if strings.HasPrefix(m[1], "#") {
				continue
			}
			r := get(t, m[1])
			testenv.Equal(t, r.StatusCode, http.StatusOK, "%s names %s: %s", page, m[1], r.Status)
			if strings.HasPrefix(m[1], "/assets/") {
				checkAsset(t, m[1], bodyOf(t, r))
			}
		}
	}
}

func checkAsset(t *testing.T, path, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
	testenv.Equal(t, foreign.FindString(text), "", "%s names another host", path)
	if strings.HasSuffix(path, ".svg") && inlinePattern.MatchString(text) {
		t.Errorf("%s: inline style", path)
	}
}

type appManifest struct {
	Name     string    `json:"name"`
	Lang     string    `json:"lang"`
	StartURL string    `json:"start_url"`
	Display  string    `json:"display"`
	Icons    []appIcon `json:"icons"`
}

type appIcon struct {
	Src     string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose"`
}

// TestTheManifestIsInTheLanguageThatIsAskedFor, and its icons are pictures of the size that it says, for few bytes.
func TestTheManifestIsInTheLanguageThatIsAskedFor(t *testing.T) {
	for accept, want := range map[string]string{
		"zh-CN,zh;q=0.9,en;q=0.8": "zh-CN", "zh": "zh-CN", "fr,zh-TW;q=0.5": "zh-CN", "en-US,en,zh": "en",
		"": "en", "fr": "en", "zhx,*": "en", ";;,=": "en",
	} {
		r := get(t, "/app.webmanifest", "Accept-Language", accept)
		if !strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Accept-Language") ||
			r.Header.Get("Content-Type") != "application/manifest+json; charset=utf-8" {
			t.Errorf("%q: %v", accept, r.Header)
		}
		var m appManifest
		testenv.Must(t, json.Unmarshal([]byte(bodyOf(t, r)), &m))
		if m.Lang != want || m.Name == "" || m.StartURL != "/" || m.Display != "standalone" {
			t.Errorf("%q: %+v", accept, m)
		}
		purposes := ""
		for _, icon := range m.Icons {
			purposes += icon.Purpose + " " + icon.Sizes + " "
			checkPicture(t, icon.Src, icon.Type, icon.Sizes, 10_000)
		}
		testenv.Equal(t, purposes, "any 192x192 any 512x512 maskable 192x192 maskable 512x512 ", "%q", accept)
	}
}

func checkPicture(t *testing.T, path, contentType, sizes string, most int) {
	t.Helper()
	r := get(t, path)
	body := bodyOf(t, r)
	c, _, err := image.DecodeConfig(strings.NewReader(body))
	if err != nil || r.Header.Get("Content-Type") != contentType || len(body) > most {
		t.Fatalf("%s: %s, %s, %d bytes (%v)", path, r.Status, r.Header.Get("Content-Type"), len(body), err)
	}
	if w, h := c.Width, c.Height; sizes != strings.Join([]string{itoa(w), itoa(h)}, "x") {
		t.Errorf("%s is %dx%d, not %s", path, w, h, sizes)
	}
}

func itoa(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// TestWhatAChatShowsOfALink: with an address of outside all is named by it, whatever Host a request has.
func TestWhatAChatShowsOfALink(t *testing.T) {
	for public, url := range map[string]string{
		"": "", "https://rain.example": "https://rain.example/", `https://rain.example/"><script>`: "",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = "evil.example"
		web.Handler(web.Options{PublicURL: public}).ServeHTTP(w, r)
		page := w.Body.String()
		property := func(name string) string {
			found := regexp.MustCompile(`<meta property="og:` + name + `" content="([^"]*)">`).FindStringSubmatch(page)
			if found == nil {
				return ""
			}
			return found[1]
		}
		if strings.Contains(page, "evil.example") || strings.Contains(page, `"><script>"`) ||
			property("title") == "" || property("description") == "" {
			t.Errorf("%q: %s", public, page)
		}
		if strings.ContainsAny(public, `"<>`) {
			continue
		}
		if property("url") != url || !strings.HasPrefix(property("image"), public+"/assets/share-") {
			t.Errorf("%q: %s, %s", public, property("url"), property("image"))
		}
		checkPicture(t, strings.TrimPrefix(property("image"), public), "image/jpeg", "1200x630", 60_000)
	}
}

// TestFilesOfTheOperator are served as they are, and no others.
func TestFilesOfTheOperator(t *testing.T) {
	h := web.Handler(web.Options{Files: map[string][]byte{"MP_verify_x1.txt": []byte("x1")}})
	for path, want := range map[string]int{"/MP_verify_x1.txt": 200, "/MP_verify_x2.txt": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want || want == 200 && (w.Body.String() != "x1" ||
			w.Header().Get("Content-Type") != "text/plain; charset=utf-8") {
			t.Errorf("%s: %d %v %q", path, w.Code, w.Header(), w.Body)
		}
	}
}
