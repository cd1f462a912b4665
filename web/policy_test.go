package web_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/web"
)

// policyOf is the Content-Security-Policy of a page, by its directives. Each stands there once: browsers read the first
// of two.
func policyOf(t *testing.T, h http.Handler, page string) map[string][]string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, page, nil)
	r.Host = "rain.example"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	policy := map[string][]string{}
	for directive := range strings.SplitSeq(w.Header().Get("Content-Security-Policy"), "; ") {
		words := strings.Fields(directive)
		if _, twice := policy[words[0]]; twice {
			t.Errorf("%s says twice what %s is", page, words[0])
		}
		policy[words[0]] = words[1:]
	}
	return policy
}

// TestPolicies: an option adds its origins to the page that needs them, and changes nothing else.
func TestPolicies(t *testing.T) {
	plain := map[string][]string{
		"default-src": {"'self'"}, "img-src": {"'self'", "data:"}, "script-src": {"'self'"},
		"connect-src": {"'self'", "ws://rain.example", "wss://rain.example"}, "object-src": {"'none'"},
		"base-uri": {"'none'"}, "form-action": {"'self'"}, "frame-ancestors": {"'self'"},
	}
	type added = map[string][]string
	widget := []string{"https://w.example", "https://*.w.example"}
	sdk := "https://sdk.example:8443/js/a.js?b;%20script-src%20*"
	for name, tc := range map[string]struct {
		options web.Options
		adds    map[string]added // by page
	}{
		"nothing": {},
		"pictures of players": {web.Options{Images: []string{"https://img.example", "https://*.qlogo.cn"}},
			map[string]added{
				"/":       {"img-src": {"https://img.example", "https://*.qlogo.cn"}},
				"/screen": {"img-src": {"https://img.example", "https://*.qlogo.cn"}},
			}},
		"a widget": {web.Options{Widget: widget}, map[string]added{
			"/": {"script-src": widget, "connect-src": widget, "frame-src": widget,
				"style-src": append([]string{"'self'"}, widget...)},
		}},
		"WeChat": {web.Options{WeChat: web.WeChat{SDK: sdk, Sign: "https://sign.example/?a=b"}}, map[string]added{
			"/": {"script-src": {"https://sdk.example:8443"}, "connect-src": {"https://sign.example"},
				"frame-src": {"weixin:", "weixinping:"}},
		}},
		"frames of other sites": {web.Options{Ancestors: []string{"https://app.example", "*"}}, map[string]added{
			"/": {"frame-ancestors": {"https://app.example", "*"}},
		}},
		"a script of WeChat's that nobody has asked for": {web.Options{WeChat: web.WeChat{SDK: sdk}}, nil},
		"a provider": {web.Options{SignIn: func() string { return "https://id.example/token" }}, map[string]added{
			"/console": {"connect-src": {"https://id.example"}},
		}},
	} {
		h := web.Handler(tc.options)
		for _, page := range pages {
			got := policyOf(t, h, page)
			for directive, is := range got {
				want := slices.Concat(plain[directive], tc.adds[page][directive])
				testenv.Equal(t, is, want, "%s, %s: %s is", name, page, directive)
			}
			for directive := range tc.adds[page] {
				if got[directive] == nil {
					t.Errorf("%s, %s: nothing is said of %s", name, page, directive)
				}
			}
		}
	}
}

// TestTheConsoleMayTalkToTheProvider; but nothing else that a provider says of itself gets into the policy.
func TestTheConsoleMayTalkToTheProvider(t *testing.T) {
	at := ""
	h := web.Handler(web.Options{SignIn: func() string { return at }})
	own := policyOf(t, h, "/console")["connect-src"]
	for address, origin := range map[string]string{
		"https://id.example/token": "https://id.example", "http://127.0.0.1:9000/t?x": "http://127.0.0.1:9000",
		"":                         "",
		"javascript://id.example/": "", "https://id.example; script-src *": "", "https://*/": "", "//id.example": "",
		"https://a b/": "", "https://id.example\r\nX: y/": "",
	} {
		at = address
		want := own
		if origin != "" {
			want = slices.Concat(own, []string{origin})
		}
		testenv.Equal(t, policyOf(t, h, "/console")["connect-src"], want, "with %q", address)
	}
}

// faces is a host of pictures of players: /missing is none.
func faces(t *testing.T) *httptest.Server {
	t.Helper()
	portrait := image.NewRGBA(image.Rect(0, 0, 96, 64)) // no square: it must not be squeezed
	draw.Draw(portrait, portrait.Bounds(), image.NewUniform(color.RGBA{40, 120, 200, 255}), image.Point{}, draw.Src)
	draw.Draw(portrait, image.Rect(32, 16, 64, 48), image.NewUniform(color.White), image.Point{}, draw.Src)
	var data bytes.Buffer
	testenv.Must(t, png.Encode(&data, portrait))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(data.Bytes())
	}))
	t.Cleanup(s.Close)
	return s
}

// called are some players in a room's messages, named and not. Some pictures exist, some do not, and one comes from a
// forbidden origin.
func called(from string) []object {
	list := []object{
		{"user": "张*", "name": "小雨 ☔", "avatar": from + "/1"},
		{"user": "l*", "name": "Wilhelmina von und zu Lichtenste", "avatar": from + "/missing"},
		{"user": "王*", "name": "مريم", "avatar": "http://127.0.0.9:9/elsewhere"},
		{"user": "g*1a2b"}, {"user": "m*", "name": "马年大吉大利恭喜发财万事如意阖家幸福平安喜乐年年有余步步高升"},
		{"user": "L*", "name": "Lee"},
	}
	for i, w := range list {
		w["amount"] = 888_00 - 100*i
	}
	return list
}

// TestNamesAndPictures: the ticker, the card, and the big screen's list and podium show players by their names and
// pictures. An invalid picture leaves no gap, and no other player's picture.
func TestNamesAndPictures(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	at := faces(t)
	f := newFake(t)
	f.pages = web.Handler(web.Options{Images: []string{at.URL}})
	o := chromium.Options{Device: chromium.SmallPhone}
	p := openTab(t, f, o, chromium.Network, chromium.Foreign, chromium.Log)
	p.goIn("/?campaign=c1")
	f.push(f.figures(3210, 1790, object{"winners": called(at.URL), "top": called(at.URL)}))
	p.ticks()

	o.Device = chromium.Wall
	wall := openTab(t, f, o, chromium.Network, chromium.Foreign, chromium.Log)
	wall.Go("/screen?campaign=c1")
	wall.mode("waiting")
	f.setRain(-5*time.Second, time.Hour)
	wall.mode("falling")
	f.push(f.figures(3210, 1790, object{"winners": called(at.URL), "top": called(at.URL)}))
	wall.Until("one picture in the list", "("+loadedIn("#winners .avatar")+`) === "whole"`)
	wall.state("names falling")
	f.phase("ended")
	wall.mode("board")
	wall.Until("one picture on the podium", "("+loadedIn(".podium img")+`) === "whole"`)
	wall.Says(".podium", "小雨 ☔")
	wide := chromium.Device{Name: "wide", Width: 1600, Height: 500, Scale: 1}
	for _, d := range []chromium.Device{chromium.Wall, chromium.Column, wide} {
		wall.Resize(d)
		wall.Settle()
		wall.state("names board " + d.Name)
		wall.isPodium(d.Name)
	}
}

// isPodium: the first stands highest, with or without a picture. A player without one has the first character of the
// name.
func (p *tab) isPodium(on string) {
	p.t.Helper()
	tops := eval[[]float64](p, `[1, 2, 3].map((n) => document.querySelector(".step-" + n + " .block")
		.getBoundingClientRect().top)`)
	if tops[0] >= tops[1] || tops[1] >= tops[2] {
		p.t.Errorf("%s: the steps begin at %v", on, tops)
	}
	testenv.Equal(p.t, p.Text(".podium .letter"), "W\nم", "%s: instead of pictures there are", on)
}

// loadedIn are the pictures that can be seen, whole or broken.
func loadedIn(selector string) string {
	return `[...document.querySelectorAll("` + selector + `")].filter((i) => i.checkVisibility())
		.map((i) => i.complete && i.naturalWidth === 96 ? "whole" : "broken").join(" ")`
}

// ticks looks at each line of the ticker as it comes by.
func (p *tab) ticks() {
	p.t.Helper()
	const won = " won ¥"
	for i, line := range []struct{ text, picture string }{
		{"\u2068小雨 ☔\u2069" + won + "888.00", "whole"},
		{"\u2068Wilhelmina vo…\u2069" + won + "887.00", ""},
		{"\u2068مريم\u2069" + won + "886.00", ""},
		{"\u2068Lee\u2069" + won + "883.00", ""},
	} {
		p.Until("the ticker says "+line.text+" beside its picture",
			`document.getElementById("ticker-text").textContent === %q && (%s) === %q`, line.text,
			loadedIn("#ticker img:not([src*='/assets/coin'])"), line.picture)
		p.Shoot(fmt.Sprintf("ticker %d", i))
	}
	p.NoWider("the ticker")
}
