package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/client/openapi"
	"redrain/internal/auth"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/clientip"
	"redrain/server/login"
	"redrain/server/names"
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

var errGuestsOff = refuse(http.StatusForbidden, "guests_off", "guests are off on this server; use a token")

func (a *API) guest(q *request) (any, error) {
	if !a.o.Guests {
		return nil, errGuestsOff
	}
	address := clientip.RequestKey(q.Request)
	if err := a.o.MayPlay(q.Context(), nil, "", address); err != nil {
		a.guests.WithLabelValues("denied").Inc()
		return nil, err
	}
	if a.o.GuestRate > 0 {
		if err := a.limit(q, "guest", address, a.o.GuestRate, max(1, a.o.GuestRate*clientip.Burst),
			a.guests.WithLabelValues("too_many"),
			"too many new guests from this address; try again shortly"); err != nil {
			return nil, err
		}
	}
	wish, err := bodyOf(q, openapi.CreateGuestJSONBody{})
	if err != nil {
		return nil, err
	}
	profile, err := profileOf(wish.Name, wish.Face)
	if err != nil {
		return nil, err // before the proof, which works once
	}
	if a.o.Challenge != nil {
		if err := a.challenged(q, address, wish.Proof); err != nil {
			return nil, err
		}
	}
	user := auth.NewGuest()
	if err := a.vetGuest(q, risk.Caller{User: user, Address: address}); err != nil {
		return nil, err // not counted for the address: the guest may come back
	}
	if day := float64(a.o.GuestsPerDay); day > 0 && !a.o.Unbounded(address) {
		if err := a.limit(q, "guests", address, day/(24*time.Hour).Seconds(), day,
			a.guests.WithLabelValues("address_full"),
			"this address has as many guests as one address may have in a day"); err != nil {
			return nil, err
		}
	}
	guest, err := a.mint(user, names.Draw(profile, q.Header.Get("Accept-Language")))
	if err == nil {
		a.guests.WithLabelValues("made").Inc()
	}
	return created(guest), err
}

// profileOf returns a guest's chosen name and face; both may be "".
func profileOf(name, face string) (p wire.Profile, err error) {
	var wrong faults
	if name != "" {
		accepted, ok := names.Accept(name)
		wrong.check(ok, "name", "has 1 to %d visible characters, and none that change the direction of writing",
			names.MaxName)
		p.Name = accepted
	}
	wrong.check(face == "" || names.IsFace(face), "face", "is one of %s", strings.Join(names.Faces(), ", "))
	p.Face = face
	return p, wrong.err()
}

// mint creates a guest's token.
func (a *API) mint(user string, p wire.Profile) (openapi.Guest, error) {
	who := auth.Persona{User: user, Name: p.Name, Face: p.Face}
	if a.o.GuestPayee != nil {
		who.Payee = a.o.GuestPayee(user)
	}
	token, expires, err := a.o.Players.Mint(who, guestFor)
	return openapi.Guest{User: user, Name: p.Name, Face: p.Face, Token: token, ExpiresAt: expires.UnixMilli()}, err
}

// challenged checks the proof of the request. A refusal contains the next challenge, so that a page needs no further
// request.
func (a *API) challenged(q *request, address, proof string) error {
	err := a.o.Challenge.Check(q.Context(), address, proof)
	p := problem{Status: http.StatusForbidden, Code: "challenge_required"}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, login.ErrProofMissing):
	case errors.Is(err, login.ErrProofFailed):
		p.Code = "challenge_failed"
	default:
		a.guests.WithLabelValues("unavailable").Inc()
		a.o.Log.ErrorContext(q.Context(), "check a guest's challenge", "err", err)
		return refuse(http.StatusServiceUnavailable, "unavailable",
			"your proof could not be checked; try again shortly")
	}
	a.guests.WithLabelValues(p.Code).Inc()
	p.Detail = err.Error()
	offer, err := a.o.Challenge.Offer(q.Context(), address)
	if err != nil {
		return err
	}
	p.Challenge = &offer
	return &problemError{p}
}

// renewGuest exchanges a guest's token for a later one, so that a guest stays the same player while the page is used. A
// name or a face of the request replaces the one before. Other players get their tokens from their platform.
func (a *API) renewGuest(q *request) (any, error) {
	switch {
	case !a.o.Guests:
		return nil, errGuestsOff
	case !rain.IsGuest(q.user):
		return nil, refuse(http.StatusForbidden, "no_guest",
			"only guests get their tokens here; ask the platform that made yours")
	}
	if err := a.limit(q, "renew", q.user, renewRate, renewBurst, nil,
		"too many new tokens for this guest; try again shortly"); err != nil {
		return nil, err
	}
	wish, err := bodyOf(q, openapi.RenewGuestJSONBody{})
	if err != nil {
		return nil, err
	}
	profile, err := profileOf(wish.Name, wish.Face)
	if err != nil {
		return nil, err
	}
	before, err := a.o.Players.Grant(q.Context(), auth.Bearer(q.Request))
	if err != nil {
		return nil, err
	}
	profile.Name, profile.Face = cmp.Or(profile.Name, before.Name), cmp.Or(profile.Face, before.Face)
	return a.mint(q.user, names.Draw(profile, q.Header.Get("Accept-Language")))
}

// The limit of a guest's new tokens, per second and in a burst. A token lives for minutes at least.
const renewRate, renewBurst = 0.1, 5
