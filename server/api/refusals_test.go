package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/auth"
	"redrain/internal/testenv"
)

// bursts allows the burst of a limit, and never more.
type bursts struct {
	taken map[string]float64
	down  bool
}

func (b *bursts) Allow(_ context.Context, name, key string, _, burst float64) (bool, time.Duration, error) {
	if b.down {
		return false, 0, errors.New("nobody counts")
	}
	b.taken[name+" "+key]++
	return b.taken[name+" "+key] <= burst, 1500 * time.Millisecond, nil
}

// refusing is an API that counts its refusals.
type refusing struct {
	api    *API
	notes  auditNotes
	limits bursts
	reg    *prometheus.Registry
	log    bytes.Buffer
}

func newRefusing() *refusing {
	f := &refusing{reg: prometheus.NewRegistry(), limits: bursts{taken: map[string]float64{}}}
	f.api = newAPI(Options{
		Operators: testStaff, Audit: &f.notes, Limits: &f.limits, Registerer: f.reg, Clock: func() int64 { return 7 },
		Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	return f
}

func (f *refusing) ask(method, path, token, addr string) *httptest.ResponseRecorder {
	return ask(f.api, token, method, path, "", func(r *http.Request) { r.RemoteAddr = addr + ":99" })
}

// counted compares the metric with the wanted refusals.
func (f *refusing) counted(t *testing.T, want map[string]int) {
	t.Helper()
	text := "# HELP redrain_operator_refusals_total Requests on operators' paths that were refused, by reason: " +
		"no_token, wrong_token, too_many (wrong tokens from one address, or from all), forbidden (by role), " +
		"unrecorded (of these, those that the audit log does not have), unavailable.\n" +
		"# TYPE redrain_operator_refusals_total counter\n"
	for _, reason := range []string{"forbidden", "no_token", "too_many", "unavailable", "unrecorded", "wrong_token"} {
		text += "redrain_operator_refusals_total{reason=\"" + reason + "\"} " + strconv.Itoa(want[reason]) + "\n"
	}
	err := testutil.GatherAndCompare(f.reg, strings.NewReader(text), "redrain_operator_refusals_total")
	testenv.Must(t, err)
}

// TestWrongTokensOfManyAddressesAreSlowed: a few guesses from each of many addresses get 429, as many guesses from one
// do. A good token is not slowed.
func TestWrongTokensOfManyAddressesAreSlowed(t *testing.T) {
	t.Parallel()
	f := newRefusing()
	for n := range wrongTokensOfAll + 20 {
		w := f.ask("GET", "/whoami", "guess-of-mine", "192.0.2."+strconv.Itoa(n))
		want := http.StatusUnauthorized
		if n >= wrongTokensOfAll {
			want = http.StatusTooManyRequests
		}
		if w.Code != want {
			t.Fatalf("guess %d: %d", n, w.Code)
		}
	}
	testenv.Equal(t, f.ask("GET", "/whoami", "viewer", "198.51.100.1").Code, http.StatusOK, "a good one")
	f.counted(t, map[string]int{"wrong_token": wrongTokensOfAll, "too_many": 20})
}

// TestWrongTokensAreSlowed: an address that tries many tokens has to wait. Other addresses do not, nor does a good
// token there. The log has each of the first guesses, and never a token.
func TestWrongTokensAreSlowed(t *testing.T) {
	t.Parallel()
	f := newRefusing()
	for n := range 25 {
		w := f.ask("GET", "/whoami", "guess-of-mine", "192.0.2.1")
		want := http.StatusUnauthorized
		if n >= wrongTokensAMinute {
			want = http.StatusTooManyRequests
		}
		if w.Code != want || (w.Header().Get("Retry-After") == "2") != (n >= wrongTokensAMinute) {
			t.Fatalf("guess %d: %d, Retry-After %q", n, w.Code, w.Header().Get("Retry-After"))
		}
	}
	for who, c := range map[string]struct {
		token, addr string
		want        int
	}{
		"a good one from there":         {"cashier", "192.0.2.1", http.StatusOK},
		"a wrong one from elsewhere":    {"other-guess", "192.0.2.2", http.StatusUnauthorized},
		"none at all from there":        {"", "192.0.2.1", http.StatusUnauthorized},
		"and a good one from elsewhere": {"viewer", "192.0.2.2", http.StatusOK},
	} {
		testenv.Equal(t, f.ask("GET", "/whoami", c.token, c.addr).Code, c.want, "%s", who)
	}
	f.counted(t, map[string]int{"wrong_token": 11, "too_many": 15, "no_token": 1})
	said := f.log.String()
	if strings.Count(said, "a wrong operator's token") != 11 || strings.Contains(said, "guess-of-mine") ||
		!strings.Contains(said, "192.0.2.1") {
		t.Errorf("the log:\n%s", said)
	}
	f.limits.down = true
	for range 2 * wrongTokensAMinute {
		testenv.Equal(t, f.ask("GET", "/whoami", "guess", "192.0.2.3").Code, 401, "a guess where Redis is away")
	}
	testenv.Equal(t, strings.Count(f.log.String(), "a wrong operator's token"), 11+wrongTokensAMinute/2, "logged lines")
	testenv.Equal(t, f.ask("GET", "/whoami", "viewer", "192.0.2.3").Code, http.StatusOK,
		"a good one where Redis is away")
}

// TestRefusedByRoleIsOnRecord: with name and route; a flood is counted and fills nothing.
func TestRefusedByRoleIsOnRecord(t *testing.T) {
	t.Parallel()
	f := newRefusing()
	for range 25 {
		if w := f.ask("POST", "/sponsors/acme/deposits", "viewer", "192.0.2.1"); w.Code != http.StatusForbidden {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	f.ask("POST", "/campaigns", "cashier", "192.0.2.1")
	if n := len(f.notes.records); n != recordsAMinute+1 {
		t.Fatalf("%d records", n)
	}
	first, last := f.notes.records[0], f.notes.records[recordsAMinute]
	if first.Actor != "viewer" || first.Action != "refused" || first.Role != "viewer" ||
		first.Target != "POST "+Root+"/sponsors/acme/deposits" || string(first.Detail) !=
		`{"address":"192.0.2.1","right":"deposits"}` || last.Actor != "cashier" {
		t.Errorf("%+v and %+v", first, last)
	}
	f.counted(t, map[string]int{"forbidden": 26, "unrecorded": 15})
	f.limits.down = true
	for range 25 {
		f.ask("POST", "/campaigns", "cashier", "192.0.2.1")
	}
	testenv.Equal(t, len(f.notes.records), 2*recordsAMinute+1, "records where Redis is away")
}

// awayStaff cannot verify a token: the identity provider is away.
type awayStaff struct{}

func (awayStaff) Operator(context.Context, string) (auth.Operator, error) {
	return auth.Operator{}, auth.ErrIssuerUnavailable
}

// TestUnknownForNow: neither let in nor taken for wrong.
func TestUnknownForNow(t *testing.T) {
	t.Parallel()
	f := newRefusing()
	f.api = newAPI(Options{Operators: awayStaff{}, Registerer: prometheus.NewRegistry(),
		Log: slog.New(slog.DiscardHandler)})
	if w := f.ask("GET", "/whoami", "ann", "192.0.2.1"); w.Code != http.StatusServiceUnavailable ||
		!strings.Contains(w.Body.String(), "identity provider") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	testenv.Equal(t, testutil.ToFloat64(f.api.refusals.WithLabelValues("unavailable")), 1, "counted")
}
