package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/clientip"
	"redrain/server/risk"
)

func heldViewOf(h ledger.Held) openapi.HeldWin {
	return openapi.HeldWin{Claim: h.Claim, Campaign: h.Campaign, User: h.User, Packet: strconv.Itoa(h.Packet),
		Amount: h.Amount, At: h.WonAt, HeldAt: h.HeldAt, Verdict: string(h.Act), Score: h.Score,
		Reasons: reasonsOf(h.Reasons), State: string(h.State), DecidedBy: h.By, Decision: h.Decision,
		DecidedAt: h.DecidedAt}
}

// heldWins lists wins that are or were held, the oldest first.
func (a *API) heldWins(w http.ResponseWriter, r *http.Request, _ caller) error {
	query := r.URL.Query()
	state, user, campaign := ledger.HeldState(query.Get("state")), query.Get("user"), query.Get("campaign")
	if user != "" && campaign != "" || !utf8.ValidString(user+campaign) {
		return rain.Invalid{{Field: "user", Message: "give a player or a campaign, or neither"}}
	}
	switch state {
	case "":
		state = ledger.HeldOpen
	case ledger.HeldOpen, ledger.HeldReleased, ledger.HeldConfirmed:
	default:
		return rain.Invalid{{Field: "state", Message: "is held, released or confirmed"}}
	}
	return answerList(w, r, func(ctx context.Context, cursor string, limit int) ([]ledger.Held, string, error) {
		return a.o.Held.ListHeld(ctx, ledger.HeldQuery{State: state, User: user, Campaign: campaign, After: cursor,
			Limit: limit})
	}, heldViewOf)
}

func (a *API) riskSummary(w http.ResponseWriter, r *http.Request, _ caller) error {
	n, amount, err := a.o.Held.CountHeld(r.Context())
	return answer(w, openapi.HeldSum{Wins: n, Amount: amount}, err)
}

// decideHeld releases or confirms held wins, and answers their states.
func (a *API) decideHeld(action string) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		in, err := bodyOf(w, r, who, openapi.HeldDecision{})
		if err != nil {
			return err
		}
		var wrong faults
		wrong.check(len(in.Users) <= ledger.MaxDecided && (len(in.Users) == 0 || action == "release"), "users",
			"are released, at most %d at once", ledger.MaxDecided)
		wrong.check(len(in.Claims)+len(in.Users) > 0 && len(in.Claims) <= ledger.MaxDecided, "claims",
			"is required: 1 to %d claims", ledger.MaxDecided)
		wrong.check(strings.TrimSpace(in.Reason) != "" && len(in.Reason) <= maxReason, "reason",
			"is required: 1 to %d bytes", maxReason)
		if err := wrong.err(); err != nil {
			return err
		}
		decide := a.o.Held.Release
		if action == "confirm" {
			decide = a.o.Held.Confirm
		}
		ctx := a.audited(r, who, "risk."+action, map[string]any{"reason": in.Reason})
		defer a.o.Judged()
		if len(in.Users) > 0 {
			if err := a.o.Held.Trust(ctx, in.Users, personOf(who, in.Reason)); err != nil {
				return err
			}
		}
		done, err := decide(ctx, in.Claims, personOf(who, in.Reason))
		a.o.Notifier.Retried(r.Context(), done.Released) // also those released before an error
		return answer(w, listOf(done.Wins, "", heldViewOf), err)
	}
}

// RiskSystem is the operator's own risk system. [risk.System] implements it.
type RiskSystem interface {
	Guest(ctx context.Context, who risk.Caller) error
	Withdrawal(ctx context.Context, who risk.Caller, money risk.Money) (hold string, err error)
}

// unchecked returns the answer for risk.ErrNoAnswer, and other errors unchanged.
func unchecked(err error) error {
	if errors.Is(err, risk.ErrNoAnswer) {
		return refuse(http.StatusServiceUnavailable, "unavailable", err.Error())
	}
	return err
}

// vetGuest asks the system about a guest before the creation.
func (a *API) vetGuest(r *http.Request, who risk.Caller) error {
	if a.o.RiskSystem == nil {
		return nil
	}
	err := a.o.RiskSystem.Guest(r.Context(), who)
	switch {
	case errors.Is(err, standing.ErrDenied):
		a.guests.WithLabelValues("denied").Inc()
	case err != nil:
		a.guests.WithLabelValues("unavailable").Inc()
	}
	return unchecked(err)
}

// vetWithdrawal asks the system about a withdrawal, and returns the reason to hold it, or "". It does not ask about a
// repeated withdrawal, nor about one above the balance.
func (a *API) vetWithdrawal(r *http.Request, id, user string, amount rain.Money) (hold string, err error) {
	if a.o.RiskSystem == nil {
		return "", nil
	}
	_, err = a.o.Withdrawals.Withdrawal(r.Context(), id)
	if err == nil || !errors.Is(err, ledger.ErrUnknownWithdrawal) {
		return "", err
	}
	balance, err := a.o.Claims.UserBalance(r.Context(), user)
	switch {
	case err != nil:
		return "", err
	case balance < amount: // later income does not matter
		return "", booking.ErrInsufficientFunds
	}
	hold, err = a.o.RiskSystem.Withdrawal(r.Context(), risk.Caller{User: user, Address: clientip.RequestKey(r)},
		risk.Money{Withdrawal: id, Amount: amount})
	return hold, unchecked(err)
}
