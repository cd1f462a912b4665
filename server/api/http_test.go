package api

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/campaigns"
)

func TestFailHidesWhatIsNotInTheTable(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("looking: %w", posting.ErrUnknownCampaign), 404, "unknown_campaign"},
		{rain.Invalid{{Field: "budget", Message: "is too small"}}, 422, "invalid"},
		{fmt.Errorf("%w: dial tcp 10.0.0.1", campaigns.ErrApply), 503, "unavailable"},
		{context.DeadlineExceeded, 503, "unavailable"},
		{fmt.Errorf("begin: %w", &mysql.MySQLError{Number: 1205, Message: "Lock wait timeout"}), 503, "busy"},
		{fmt.Errorf("begin: %w", &mysql.MySQLError{Number: 1047, Message: "WSREP has not yet prepared"}), 503,
			"unavailable"},
		{fmt.Errorf("12 tries: %w", &mysql.MySQLError{Number: 1213, Message: "Deadlock found"}), 503, "busy"},
		{fmt.Errorf("begin: %w", &net.OpError{Op: "dial", Err: errors.New("refused by 10.0.0.1")}), 503, "unavailable"},
		{fmt.Errorf("reading: %w", ledger.ErrBadCursor), 422, "invalid"},
		{errors.New("password is hunter2"), 500, "internal"},
	} {
		w := httptest.NewRecorder()
		fail(w, httptest.NewRequest(http.MethodGet, "/x", nil), slog.New(slog.DiscardHandler), c.err)
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) ||
			w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: %d %s", c.err, w.Code, body)
		}
		if (w.Header().Get("Retry-After") != "") != (c.status == http.StatusServiceUnavailable) {
			t.Errorf("%v: Retry-After %q", c.err, w.Header().Get("Retry-After"))
		}
		if strings.Contains(body, "hunter2") || strings.Contains(body, "10.0.0.1") {
			t.Errorf("the answer shows internals: %s", body)
		}
	}
}

func TestPageOf(t *testing.T) {
	for query, want := range map[string]page{
		"": {limit: 50}, "limit=7&cursor=x": {limit: 7, cursor: "x"}, "limit=1000": {limit: 500},
		"limit=500": {limit: 500},
	} {
		q, _ := by(caller{}, httptest.NewRequest(http.MethodGet, "/?"+query, nil))
		got, err := pageOf(q)
		if err != nil || got != want {
			t.Errorf("%q: %+v %v", query, got, err)
		}
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=many", "limit=1e3"} {
		q, _ := by(caller{}, httptest.NewRequest(http.MethodGet, "/?"+query, nil))
		if _, err := pageOf(q); err == nil {
			t.Errorf("%q is taken", query)
		}
	}
}

func TestMergeClaims(t *testing.T) {
	claim := func(packet int, state ledger.ClaimState) ledger.Claim {
		return ledger.Claim{Packet: packet, State: state}
	}
	granted := []ledger.Claim{claim(1, "granted"), claim(4, "granted"), claim(5, "granted"), claim(9, "granted")}
	for _, c := range []struct {
		name             string
		settled          []ledger.Claim
		page             page
		next, want, then string
	}{
		{"last page", []ledger.Claim{claim(3, "settled"), claim(5, "settled")}, page{cursor: "2", limit: 50}, "",
			"[3settled 4granted 5settled 9granted]", ""},
		{"more to come", []ledger.Claim{claim(3, "settled"), claim(5, "settled")}, page{limit: 2}, "5",
			"[1granted 3settled]", "3"},
		{"nothing settled", nil, page{limit: 2}, "", "[1granted 4granted]", "4"},
		{"promised twice", []ledger.Claim{{Packet: 4, User: "another", State: "settled"}}, page{limit: 2}, "",
			"[1granted 4settled 4granted]", "4"},
		{"nothing new", nil, page{cursor: "9", limit: 2}, "", "[]", ""},
	} {
		all, next := mergeClaims(c.settled, granted, c.page, c.next)
		got := []string{}
		for _, x := range all {
			got = append(got, fmt.Sprintf("%d%s", x.Packet, x.State))
		}
		if fmt.Sprint(got) != c.want || next != c.then {
			t.Errorf("%s: %v then %q, want %s then %q", c.name, got, next, c.want, c.then)
		}
	}
}

// TestReasonsAreOneVisibleLine: so that none changes the look of the audit, on a terminal or on a page.
func TestReasonsAreOneVisibleLine(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"reason":"❤️ seen","reference":"x7"}`: "<nil>",
		`{"reason":"a\u001b[2J"}`:               "reason: has no control characters",
		`{"reason":"a\nb"}`:                     "reason: has no control characters",
		`{"reason":"ok","reference":"\u202ex"}`: "reference: has no control characters",
		`{"reason":"ok","Reason":"other"}`:      "Reason: is not a field of this request",
	} {
		q, _ := by(caller{role: "operator"}, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if _, _, err := readReason(q, true); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

// TestRequireUpgrade: a request without an upgrade gets an answer that names it. Several headers of subprotocols are
// one.
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
				testenv.Equal(t, w.Header().Get(header), want, "%s", header)
			}
			if w.Code != 200 && w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s", w.Body)
			}
		})
	}
}

// TestMethodsAndOrigins: Allow has all methods of a path. Pages of an allowed origin may use players' routes, and no
// operators' routes.
func TestMethodsAndOrigins(t *testing.T) {
	mux := http.NewServeMux()
	newAPI(Options{AllowedOrigins: []string{"https://game.example"}}).Mount(mux)
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

// TestOnlyRead: all methods but GET and HEAD get 405.
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

func TestPrefersCSV(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/csv": true, "text/csv;q=0.5": true, "text/*": true,
		"application/json, text/csv;q=0.9": false, "application/json;q=0.2, text/csv": true, "text/csv;q=0": false,
		"text/csvx": false, "application/json;x=text/csv": false, "text/csv, */*;q=0.1": true, ";;;": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", accept)
		testenv.Equal(t, prefersCSV(r), want, "%q", accept)
	}
}

// TestACellIsNoFormula: neither for a spreadsheet nor after a round through encoding/csv.
func TestACellIsNoFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "u1": "u1", "张三": "张三", "=1+1": "'=1+1", "+1": "'+1", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)",
		"a=1": "a=1", "＝1+1": "'＝1+1", "＠x": "'＠x",
	} {
		got := inert(cell)
		row, err := csv.NewReader(strings.NewReader("\"" + got + "\",x\n")).Read()
		if err != nil || got != want || row[0] != want {
			t.Errorf("%q: %q, %q (%v)", cell, got, row, err)
		}
	}
}
