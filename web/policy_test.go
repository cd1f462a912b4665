package web_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/web"
)

// policyOf is what the Content-Security-Policy of a page says, by its directives. Each stands there once: browsers read
// the first of two.
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

// TestPolicies: what an option lets a page load is added for the page that needs it, and nothing else changes.
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
