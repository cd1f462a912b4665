package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

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
			t.Errorf("the answer shows what is inside: %s", body)
		}
	}
}

func TestPageOf(t *testing.T) {
	for query, want := range map[string]page{
		"": {limit: 50}, "limit=7&cursor=x": {limit: 7, cursor: "x"}, "limit=1000": {limit: 500},
		"limit=500": {limit: 500},
	} {
		got, err := pageOf(httptest.NewRequest(http.MethodGet, "/?"+query, nil))
		if err != nil || got != want {
			t.Errorf("%q: %+v %v", query, got, err)
		}
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=many", "limit=1e3"} {
		if _, err := pageOf(httptest.NewRequest(http.MethodGet, "/?"+query, nil)); err == nil {
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

// TestReadBodyLimits: a player's requests are small, so that many at once cannot fill the memory.
func TestReadBodyLimits(t *testing.T) {
	for name, c := range map[string]struct {
		who   caller
		limit int64
	}{
		"an operator": {caller{role: "operator"}, maxBody},
		"a player":    {caller{role: "player", user: "u"}, 4 << 10},
		"anyone":      {caller{}, 4 << 10},
	} {
		for _, over := range []int64{0, 1} {
			r := httptest.NewRequest(http.MethodPost, "/", io.LimitReader(zeros{}, c.limit+over))
			_, err := readBody(httptest.NewRecorder(), r, c.who)
			var p *problemError
			if tooLarge := errors.As(err, &p) && p.Status == http.StatusRequestEntityTooLarge; tooLarge != (over == 1) {
				t.Errorf("%s, %d bytes over the limit: %v", name, over, err)
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// FuzzBodies: no body panics the decoder or the validation, and a campaign that is accepted can be split to its budget.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"name":"Gala","sponsor":"acme","budget":1000000,"packets":5000}`,
		`{"name":"x","sponsor":"a","budget":3,"packets":2,"split":"list","amounts":[1,2]}`,
		`{"name":"x","sponsor":"a","budget":100,"packets":10,"max":10,"min":10,"split":"even"}`,
		`{"name":"x","sponsor":"a","budget":9223372036854775807,"packets":10000000}`,
		`{"budget":1e999}`, `{"min":null,"max":null,"amounts":null}`, `{"starts_in_ms":0,"starts_at":1}`,
		`{"a":1}{"b":2}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		drops := rain.DefaultRain()
		if decode(body, &drops) == nil {
			_ = drops.Validate(0)
		}
		spec := rain.DefaultSpec()
		if decode(body, &spec) != nil || spec.Validate() != nil || spec.Packets > 10_000 {
			return
		}
		amounts, err := spec.Cut(rain.Seed{})
		if err != nil {
			t.Fatalf("%s is valid but cannot be split: %v", body, err)
		}
		if total, err := rain.Sum(amounts); err != nil || total != spec.Budget {
			t.Fatalf("%s splits to %d (%v)", body, total, err)
		}
	})
}
