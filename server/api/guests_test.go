package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/client/openapi"
	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/login"
	"redrain/server/names"
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

// A guest has the chosen name and face, or drawn ones. The token holds both, and keeps what a renewal does not change.
func TestGuestsHaveNames(t *testing.T) {
	players := testenv.Got(auth.NewPlayers(auth.PlayersOptions{Secret: doorSecret})).Must(t)
	a := newAPI(Options{Guests: true, Players: players, Log: paytest.Quiet})
	inChinese := func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8") }
	created := func(what, token, path, body string, status int, name, face string) openapi.Guest {
		t.Helper()
		w := ask(a, token, "POST", path, body, inChinese)
		var g openapi.Guest
		testenv.Must(t, json.Unmarshal(w.Body.Bytes(), &g))
		grant, err := players.Grant(t.Context(), g.Token)
		if w.Code != status || err != nil || !regexp.MustCompile("^"+name+"$").MatchString(g.Name) ||
			!regexp.MustCompile("^"+face+"$").MatchString(g.Face) || grant.Name != g.Name || grant.Face != g.Face ||
			grant.User != g.User || !rain.IsGuest(g.User) {
			t.Errorf("%s: %d %s, the token has %+v (%v)", what, w.Code, w.Body, grant, err)
		}
		return g
	}
	const anyName, anyFace = `\S+ \d{2,3}`, `[a-z]+`
	for _, c := range []struct{ body, name, face string }{
		{"", anyName, anyFace},
		{"{}", anyName, anyFace},
		{`{"name":"","face":""}`, anyName, anyFace},
		{`{"face":"koi"}`, `锦鲤 \d{2,3}`, "koi"},
		{`{"name":"小雨"}`, "小雨", anyFace},
		{`{"name":" José 🎉\n","face":"cat"}`, "José 🎉", "cat"},
	} {
		created(c.body, "", "/guests", c.body, http.StatusCreated, c.name, c.face)
	}
	g := created("new", "", "/guests", `{"name":"小雨","face":"cat"}`, http.StatusCreated, "小雨", "cat")
	created("renewed", g.Token, "/me/token", "", http.StatusOK, "小雨", "cat")
	created("another face", g.Token, "/me/token", `{"face":"koi"}`, http.StatusOK, "小雨", "koi")
	created("another name", g.Token, "/me/token", `{"name":"大雨"}`, http.StatusOK, "大雨", "cat")
	old, _, err := players.Mint(auth.Persona{User: g.User}, time.Hour)
	testenv.Must(t, err)
	created("a token without a name", old, "/me/token", "", http.StatusOK, anyName, anyFace)
	for _, body := range []string{
		`{"name":" "}`, `{"name":"a\nb"}`, `{"name":"a\u202eb"}`, `{"name":"a\u200bb"}`, `{"name":"\u0000"}`,
		`{"name":"\u3164"}`, `{"name":"` + strings.Repeat("字", names.MaxName+1) + `"}`, `{"name":7}`,
		`{"face":"../koi"}`, `{"face":"Koi"}`, `{"nick":"x"}`,
	} {
		field := body[2:strings.Index(body, `":`)]
		for path, token := range map[string]string{"/guests": "", "/me/token": g.Token} {
			wantAnswer(t, ask(a, token, "POST", path, body), http.StatusUnprocessableEntity, `"invalid"`,
				`"field":"`+field+`"`)
		}
	}
}

// A refused name costs no proof: it works once.
func TestANameIsCheckedBeforeTheProof(t *testing.T) {
	a := newAPI(Options{Guests: true, Challenge: &oneWord{}, Players: minter{}, Log: paytest.Quiet})
	wantAnswer(t, ask(a, "", "POST", "/guests", `{"name":"\u202e"}`), http.StatusUnprocessableEntity, `"invalid"`)
	wantAnswer(t, ask(a, "", "POST", "/guests", `{"name":"小雨"}`), http.StatusForbidden, `"challenge_required"`)
}

// minter mints tokens that are the player's name, and takes them.
type minter struct{ Players }

func (minter) Grant(_ context.Context, token string) (auth.Grant, error) {
	if token == "" {
		return auth.Grant{}, auth.ErrBadToken
	}
	return auth.Grant{User: token}, nil
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
