package api

import (
	"context"
	"net/http"
	"testing"
	"time"

	"redrain/internal/auth"
	"redrain/payout/paytest"
)

// minter mints tokens that are the player's name, and takes them.
type minter struct{ Players }

func (minter) Verify(_ context.Context, token string) (string, error) {
	if token == "" {
		return "", auth.ErrBadToken
	}
	return token, nil
}

func (minter) Mint(user string, ttl time.Duration) (string, time.Time, error) {
	return "new " + user, time.UnixMilli(ttl.Milliseconds()), nil
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
			a := New(Options{Guests: c.guests, Players: minter{}, Log: paytest.Quiet})
			wantAnswer(t, ask(a, c.token, "POST", "/me/token", ""), c.status, c.says)
		})
	}
}
