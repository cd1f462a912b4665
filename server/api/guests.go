package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/auth"
	"redrain/internal/openapi"
	"redrain/rain"
	"redrain/server/clientip"
	"redrain/server/login"
	"redrain/server/risk"
)

// guestFor is the life of a guest's token.
const guestFor = 30 * 24 * time.Hour

// Challenge is the CAPTCHA before a guest is created.
type Challenge interface {
	Offer(ctx context.Context, address string) (login.Challenge, error)
	// Check checks the proof of an address. Its errors are those of package login, or a back end's.
	Check(ctx context.Context, address, proof string) error
}

// newGuestCounts returns the counter of requests for a guest's name.
func newGuestCounts(reg prometheus.Registerer) *prometheus.CounterVec {
	return newCounts(reg, prometheus.CounterOpts{
		Name: "redrain_guests_total",
		Help: "Requests for a guest's name, by outcome: made, too_many (from one address at once), " +
			"address_full (too many from one address in a day), challenge_required, challenge_failed, " +
			"denied (by a list of addresses, or by the risk system), unavailable (the challenge " +
			"could not be checked, or the risk system did not answer).",
	}, "outcome", "made", "too_many", "address_full", "challenge_required", "challenge_failed", "denied", "unavailable")
}

// newCounts returns a counter with one label, and registers it if there is a registerer. Its values begin at 0.
func newCounts(reg prometheus.Registerer, o prometheus.CounterOpts, label string,
	values ...string) *prometheus.CounterVec {
	c := promauto.With(reg).NewCounterVec(o, []string{label})
	for _, v := range values {
		c.WithLabelValues(v)
	}
	return c
}

func (a *API) guest(w http.ResponseWriter, r *http.Request, who caller) error {
	if !a.o.Guests {
		return refuse(http.StatusForbidden, "guests_off", "guests are off on this server; use a token")
	}
	address := clientip.RequestKey(r)
	if err := a.o.MayPlay(r.Context(), nil, "", address); err != nil {
		a.guests.WithLabelValues("denied").Inc()
		return err
	}
	if a.o.GuestRate > 0 {
		ok, after, err := a.o.Limits.Allow(r.Context(), "guest", address, a.o.GuestRate,
			max(1, a.o.GuestRate*clientip.Burst))
		if err != nil {
			return err
		}
		if !ok {
			a.guests.WithLabelValues("too_many").Inc()
			return tooMany(w, after, "too many new guests from this address; try again shortly")
		}
	}
	if a.o.Challenge != nil {
		if err := a.challenged(w, r, who, address); err != nil {
			return err
		}
	}
	user := auth.GuestName()
	if err := a.vetGuest(r, risk.Caller{User: user, Address: address}); err != nil {
		return err // not counted for the address: the guest may come back
	}
	if err := a.another(w, r, address); err != nil {
		return err
	}
	token, expires, err := a.o.Players.Mint(user, guestFor)
	if err != nil {
		return err
	}
	a.guests.WithLabelValues("made").Inc()
	WriteJSON(w, http.StatusCreated, openapi.Guest{User: user, Token: token, ExpiresAt: expires.UnixMilli()})
	return nil
}

// another counts one more guest of an address against the limit of a day.
func (a *API) another(w http.ResponseWriter, r *http.Request, address string) error {
	if a.o.GuestsPerDay == 0 || a.o.Unbounded != nil && a.o.Unbounded(address) {
		return nil
	}
	day := float64(a.o.GuestsPerDay)
	ok, after, err := a.o.Limits.Allow(r.Context(), "guests", address, day/(24*time.Hour).Seconds(), day)
	if err != nil {
		return err
	}
	if !ok {
		a.guests.WithLabelValues("address_full").Inc()
		return tooMany(w, after, "this address has as many guests as one address may have in a day")
	}
	return nil
}

// challenged checks the proof of the request. A refusal contains the next challenge, so that a page needs no further
// request.
func (a *API) challenged(w http.ResponseWriter, r *http.Request, who caller, address string) error {
	said, err := bodyOf(w, r, who, openapi.CreateGuestJSONBody{})
	if err != nil {
		return err
	}
	err = a.o.Challenge.Check(r.Context(), address, said.Proof)
	var p problem
	switch {
	case err == nil:
		return nil
	case errors.Is(err, login.ErrProofMissing):
		p = problem{Status: http.StatusForbidden, Code: "challenge_required", Detail: err.Error()}
	case errors.Is(err, login.ErrProofFailed):
		p = problem{Status: http.StatusForbidden, Code: "challenge_failed", Detail: err.Error()}
	default:
		a.guests.WithLabelValues("unavailable").Inc()
		a.o.Log.ErrorContext(r.Context(), "check a guest's challenge", "err", err)
		return refuse(http.StatusServiceUnavailable, "unavailable",
			"your proof could not be checked; try again shortly")
	}
	a.guests.WithLabelValues(p.Code).Inc()
	offer, err := a.o.Challenge.Offer(r.Context(), address)
	if err != nil {
		return err
	}
	p.Challenge = &openapi.Challenge{Kind: offer.Kind, Work: offer.Work, SiteKey: offer.SiteKey, Script: offer.Script}
	return &problemError{p}
}

// renewGuest exchanges a guest's token for a later one, so that a guest stays the same player while the page is used.
// Other players get their tokens from their platform.
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

// The limit of a guest's new tokens, per second and in a burst. A token lives for minutes at least.
const renewRate, renewBurst = 0.1, 5
