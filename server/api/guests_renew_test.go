package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/internal/auth"
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
		mux := http.NewServeMux()
		New(Options{Guests: c.guests, Players: minter{}, Log: slog.New(slog.DiscardHandler)}).Mount(mux)
		r := httptest.NewRequest(http.MethodPost, Root+"/me/token", nil)
		r.Header.Set("Authorization", "Bearer "+c.token)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
