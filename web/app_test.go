package web_test

import (
	"encoding/json"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/web"
)

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
