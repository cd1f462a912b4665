package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/auth"
	"redrain/internal/openapi"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/server/login"
)

// oneWord is a challenge whose proof is a word.
type oneWord struct{ away error }

func (o *oneWord) Offer(context.Context, string) (login.Challenge, error) {
	return login.Challenge{Kind: "word", SiteKey: "key"}, nil
}

func (o *oneWord) Check(_ context.Context, address, proof string) error {
	switch {
	case o.away != nil:
		return o.away
	case proof == "":
		return login.ErrProofMissing
	case proof != "word of "+address:
		return login.ErrProofFailed
	}
	return nil
}

func TestAGuestIsChallenged(t *testing.T) {
	door := &oneWord{}
	a := newAPI(Options{Guests: true, Challenge: door, Players: minter{}, Log: slog.New(slog.DiscardHandler)})
	ask := func(body string) (int, problem, openapi.Guest) { // from 192.0.2.1, as all requests of httptest
		t.Helper()
		w := ask(a, "", "POST", "/guests", body)
		var p problem
		var g openapi.Guest
		testenv.Must(t, errors.Join(json.Unmarshal(w.Body.Bytes(), &p), json.Unmarshal(w.Body.Bytes(), &g)))
		return w.Code, p, g
	}
	for _, c := range []struct {
		body, code string
		status     int
	}{
		{"", "challenge_required", 403},
		{"{}", "challenge_required", 403},
		{`{"proof":"x"}`, "challenge_failed", 403},
		{`{"proof":"word of 192.0.2.2"}`, "challenge_failed", 403},
		{`{"proof":7}`, "invalid", 422},
		{`[`, "malformed", 400},
		{`{"proof":"` + strings.Repeat("x", maxPlayerBody) + `"}`, "too_large", 413},
	} {
		status, p, _ := ask(c.body)
		if status != c.status || p.Code != c.code {
			t.Errorf("%.40q: %d %q, want %d %q", c.body, status, p.Code, c.status, c.code)
		}
		if brings := p.Challenge != nil && p.Challenge.SiteKey == "key"; brings != (status == 403) {
			t.Errorf("%.40q: %d with the challenge %+v", c.body, status, p.Challenge)
		}
	}
	if status, _, g := ask(`{"proof":"word of 192.0.2.1"}`); status != 201 || g.Token != "new "+g.User {
		t.Errorf("%d, %+v", status, g)
	}
	door.away = errors.New("away")
	if status, p, _ := ask(`{"proof":"word of 192.0.2.1"}`); status != 503 || p.Code != "unavailable" {
		t.Errorf("%d, %+v", status, p)
	}
	for outcome, want := range map[string]float64{"challenge_failed": 2, "challenge_required": 2, "made": 1,
		"too_many": 0, "unavailable": 1} {
		testenv.Equal(t, testutil.ToFloat64(a.guests.WithLabelValues(outcome)), want, "%s: counted", outcome)
	}
}

// minter mints tokens that are the player's name, and takes them.
type minter struct{ Players }

func (minter) Verify(_ context.Context, token string) (string, error) {
	if token == "" {
		return "", auth.ErrBadToken
	}
	return token, nil
}

func (minter) Mint(who auth.Persona, ttl time.Duration) (string, time.Time, error) {
	return "new " + who.User, time.UnixMilli(ttl.Milliseconds()), nil
}

// A guest gets a new token for a good one; who is no guest does not, nor anybody where guests may not play.
func TestRenewGuest(t *testing.T) {
	t.Parallel()
	const guest = "guest-0123456789abcdef1a2b"
	for name, c := range map[string]struct {
		guests bool
		token  string
		status int
		says   string
	}{
		"a guest":          {true, guest, http.StatusOK, `"token":"new ` + guest + `"`},
		"nobody":           {true, "", http.StatusUnauthorized, `"unauthorized"`},
		"another player":   {true, "u1", http.StatusForbidden, `"no_guest"`},
		"a guest of old":   {false, guest, http.StatusForbidden, `"guests_off"`},
		"nearly a guest's": {true, guest + "0", http.StatusForbidden, `"no_guest"`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(Options{Guests: c.guests, Players: minter{}, Log: paytest.Quiet})
			wantAnswer(t, ask(a, c.token, "POST", "/me/token", ""), c.status, c.says)
		})
	}
}
