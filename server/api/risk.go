package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"redrain/client/openapi"
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
func (a *API) heldWins(q *request) (any, error) {
	query := ledger.HeldQuery{State: cmp.Or(ledger.HeldState(q.query("state")), ledger.HeldOpen),
		User: q.query("user"), Campaign: q.query("campaign")}
	if query.User != "" && query.Campaign != "" || !utf8.ValidString(query.User+query.Campaign) {
		return nil, invalid("user", "give a player or a campaign, or neither")
	}
	if !slices.Contains([]ledger.HeldState{ledger.HeldOpen, ledger.HeldReleased, ledger.HeldConfirmed}, query.State) {
		return nil, invalid("state", "is held, released or confirmed")
	}
	return listed(q, func(ctx context.Context, cursor string, limit int) ([]ledger.Held, string, error) {
		query.After, query.Limit = cursor, limit
		return a.o.Held.ListHeld(ctx, query)
	}, heldViewOf)
}

func (a *API) riskSummary(q *request) (any, error) {
	n, amount, err := a.o.Held.CountHeld(q.Context())
	return openapi.HeldSum{Wins: n, Amount: amount}, err
}

// decideHeld releases or confirms held wins, and answers their states.
func (a *API) decideHeld(action string) handler {
	return func(q *request) (any, error) {
		in, err := bodyOf(q, openapi.HeldDecision{})
		if err != nil {
			return nil, err
		}
		var wrong faults
		wrong.check(len(in.Users) <= ledger.MaxDecided && (len(in.Users) == 0 || action == "release"), "users",
			"are released, at most %d at once", ledger.MaxDecided)
		wrong.check(len(in.Claims)+len(in.Users) > 0 && len(in.Claims) <= ledger.MaxDecided, "claims",
			"is required: 1 to %d claims", ledger.MaxDecided)
		wrong.checkErr(rain.CheckText(in.Reason, maxReason), "reason", "")
		if err := wrong.err(); err != nil {
			return nil, err
		}
		decide := a.o.Held.Release
		if action == "confirm" {
			decide = a.o.Held.Confirm
		}
		ctx, by := q.audited("risk."+action, detail{"reason": in.Reason}), q.person(in.Reason)
		defer a.o.Judged()
		if len(in.Users) > 0 {
			if err := a.o.Held.Trust(ctx, in.Users, by); err != nil {
				return nil, err
			}
		}
		done, err := decide(ctx, in.Claims, by)
		a.o.Notifier.Retried(q.Context(), done.Released) // also those released before an error
		return listOf(done.Wins, "", heldViewOf), err
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
func (a *API) vetGuest(q *request, who risk.Caller) error {
	if a.o.RiskSystem == nil {
		return nil
	}
	err := a.o.RiskSystem.Guest(q.Context(), who)
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
func (a *API) vetWithdrawal(q *request, id string, amount rain.Money) (hold string, err error) {
	if a.o.RiskSystem == nil {
		return "", nil
	}
	_, err = a.o.Withdrawals.Withdrawal(q.Context(), id)
	if err == nil || !errors.Is(err, ledger.ErrUnknownWithdrawal) {
		return "", err
	}
	balance, err := a.o.Claims.UserBalance(q.Context(), q.user)
	switch {
	case err != nil:
		return "", err
	case balance < amount: // later income does not matter
		return "", booking.ErrInsufficientFunds
	}
	who := risk.Caller{User: q.user, Address: clientip.RequestKey(q.Request)}
	hold, err = a.o.RiskSystem.Withdrawal(q.Context(), who, risk.Money{Withdrawal: id, Amount: amount})
	return hold, unchecked(err)
}
