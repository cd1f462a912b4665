package api

import (
	"net/http"

	"redrain/internal/openapi"
	"redrain/rain"
)

// renewGuest gives a guest a token for longer, for the one that they have, so that a guest stays the same player for as
// long as their page is used. Other players have their tokens from their platform, which is asked for the next one.
func (a *API) renewGuest(w http.ResponseWriter, r *http.Request, who caller) error {
	switch {
	case !a.o.Guests:
		return refuse(http.StatusForbidden, "guests_off", "guests are off on this server; use a token")
	case !rain.IsGuest(who.user):
		return refuse(http.StatusForbidden, "no_guest",
			"only guests get their tokens here; ask the platform that made yours")
	}
	ok, after, err := a.o.Limits.Allow(r.Context(), "renew", who.user, renewRate, renewBurst)
	if err != nil {
		return err
	}
	if !ok {
		return tooMany(w, after, "too many new tokens for this guest; try again shortly")
	}
	token, expires, err := a.o.Players.Mint(who.user, guestFor)
	return answer(w, openapi.Guest{User: who.user, Token: token, ExpiresAt: expires.UnixMilli()}, err)
}

// A guest may have so many new tokens in a second, and at once: a token is good for minutes at least.
const renewRate, renewBurst = 0.1, 5
