package api

import (
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// TestRequireUpgrade: who does not ask for a WebSocket is told how to, and several headers of subprotocols are one.
func TestRequireUpgrade(t *testing.T) {
	asks := func(extra ...string) http.Header {
		h := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}}
		for i := 0; i < len(extra); i += 2 {
			h[extra[i]] = strings.Split(extra[i+1], "|")
		}
		return h
	}
	for name, c := range map[string]struct {
		method   string
		header   http.Header
		status   int
		offered  string
		answered map[string]string
	}{
		"an upgrade":  {"GET", asks(), 200, "", nil},
		"one header":  {"GET", asks("Sec-Websocket-Protocol", "a, redrain.v1"), 200, "a,redrain.v1", nil},
		"two headers": {"GET", asks("Sec-Websocket-Protocol", "a|redrain.v1"), 200, "a,redrain.v1", nil},
		"a page": {"GET", http.Header{}, 426, "",
			map[string]string{"Upgrade": "websocket", "Connection": "Upgrade"}},
		"another version": {"GET", asks("Sec-Websocket-Version", "8"), 426, "",
			map[string]string{"Upgrade": "websocket",
				"Sec-Websocket-Version": "13"}},
		"no version": {"GET", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, 426, "",
			map[string]string{"Sec-Websocket-Version": "13"}},
		"a form": {"POST", asks(), 405, "", map[string]string{"Allow": "GET"}},
	} {
		t.Run(name, func(t *testing.T) {
			offered := ""
			handler := RequireUpgrade(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				offered = strings.Join(websocket.Subprotocols(r), ",")
			}))
			w, r := httptest.NewRecorder(), httptest.NewRequest(c.method, "/ws", nil)
			r.Header = c.header
			handler.ServeHTTP(w, r)
			if w.Code != c.status || offered != c.offered {
				t.Errorf("%d, offered %q", w.Code, offered)
			}
			for header, want := range c.answered {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s: %q", header, got)
				}
			}
			if w.Code != 200 && w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s", w.Body)
			}
		})
	}
}

// TestMethodsAndOrigins: what is allowed is said whole; pages of an allowed origin may ask for what is for players, and
// for nothing of operators'.
func TestMethodsAndOrigins(t *testing.T) {
	mux := http.NewServeMux()
	New(Options{AllowedOrigins: []string{"https://game.example"}}).Mount(mux)
	ask := func(method, path string, header ...string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, Root+path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		mux.ServeHTTP(w, r)
		return w
	}
	if w := ask("DELETE", "/campaigns"); w.Code != 405 || w.Header().Get("Allow") != "GET, POST, HEAD" {
		t.Errorf("%d, allowed %q", w.Code, w.Header().Get("Allow"))
	}
	if w := ask("GET", "/guests"); w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("%d, allowed %q", w.Code, w.Header().Get("Allow"))
	}
	for _, c := range []struct {
		path, method, origin string
		allowed              bool
	}{
		{"/guests", "POST", "https://game.example", true},
		{"/me/withdrawals", "POST", "https://game.example", true},
		{"/guests", "POST", "https://evil.example", false},
		{"/campaigns", "POST", "https://game.example", false},
	} {
		w := ask("OPTIONS", c.path, "Origin", c.origin, "Access-Control-Request-Method", c.method,
			"Access-Control-Request-Headers", "authorization")
		if got := w.Header().Get("Access-Control-Allow-Origin"); (got == c.origin) != c.allowed {
			t.Errorf("%s from %s: %d, %q", c.path, c.origin, w.Code, got)
		}
	}
}

// TestOnlyRead: what is only read says so to all other methods.
func TestOnlyRead(t *testing.T) {
	reads := OnlyRead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "DELETE": 405, "OPTIONS": 405} {
		w := httptest.NewRecorder()
		reads.ServeHTTP(w, httptest.NewRequest(method, "/healthz", nil))
		if w.Code != want || want == 405 && (w.Header().Get("Allow") != "GET, HEAD" ||
			w.Header().Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
}

// TestAnUnauthorizedAnswer says what to come with.
func TestAnUnauthorizedAnswer(t *testing.T) {
	w := httptest.NewRecorder()
	WriteProblem(w, http.StatusUnauthorized, "unauthorized", "")
	if got := w.Header().Get("WWW-Authenticate"); got != `Bearer realm="redrain"` {
		t.Errorf("%q", got)
	}
}

func TestPrefersCSV(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/csv": true, "text/csv;q=0.5": true, "text/*": true,
		"application/json, text/csv;q=0.9": false, "application/json;q=0.2, text/csv": true, "text/csv;q=0": false,
		"text/csvx": false, "application/json;x=text/csv": false, "text/csv, */*;q=0.1": true, ";;;": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", accept)
		if got := prefersCSV(r); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

// TestACellIsNoFormula: neither for a spreadsheet nor after a round through encoding/csv.
func TestACellIsNoFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "u1": "u1", "张三": "张三", "=1+1": "'=1+1", "+1": "'+1", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)",
		"a=1": "a=1",
	} {
		got := inert(cell)
		row, err := csv.NewReader(strings.NewReader("\"" + got + "\",x\n")).Read()
		if err != nil || got != want || row[0] != want {
			t.Errorf("%q: %q, %q (%v)", cell, got, row, err)
		}
	}
}
