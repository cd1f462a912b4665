package api

import (
	"context"
	"errors"
	"net/http"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/clientip"
	"redrain/server/risk"
)

// RiskSystem is the operator's own. [risk.System] asks it.
type RiskSystem interface {
	Guest(ctx context.Context, who risk.Caller) error
	Withdrawal(ctx context.Context, who risk.Caller, money risk.Money) (hold string, err error)
}

// unchecked is the answer where the system does not answer and nobody is to be let through then.
func unchecked(err error) error {
	if errors.Is(err, risk.ErrNoAnswer) {
		return refuse(http.StatusServiceUnavailable, "unavailable", err.Error())
	}
	return err
}

// vetGuest asks the system about somebody who is to become a guest.
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

// vetWithdrawal asks the system about money that is to leave: why it is to be held, "" where it is not. It is not asked
// about a withdrawal that was made before, nor about money that is not there.
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
	case balance < amount: // what comes in from now on is not asked about
		return "", booking.ErrInsufficientFunds
	}
	hold, err = a.o.RiskSystem.Withdrawal(r.Context(), risk.Caller{User: user, Address: clientip.RequestKey(r)},
		risk.Money{Withdrawal: id, Amount: amount})
	return hold, unchecked(err)
}
