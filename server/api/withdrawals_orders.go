package api

import (
	"context"
	"net/http"

	"redrain/payout/ledger"
)

// holdWithdrawal stops a withdrawal before anybody is asked to pay it.
func (a *API) holdWithdrawal(w http.ResponseWriter, r *http.Request, who caller) error {
	return a.orderWithdrawal(w, r, who, "withdrawal.hold", a.o.Withdrawals.Hold)
}

// releaseWithdrawal lets one that is held be paid.
func (a *API) releaseWithdrawal(w http.ResponseWriter, r *http.Request, who caller) error {
	defer a.o.WakePayer()
	return a.orderWithdrawal(w, r, who, "withdrawal.release", a.o.Withdrawals.Release)
}

// orderWithdrawal does what one person may do alone.
func (a *API) orderWithdrawal(w http.ResponseWriter, r *http.Request, who caller, action string,
	do func(ctx context.Context, id string, by ledger.Person) error) error {
	reason, _, err := readReason(w, r, who, true)
	if err != nil {
		return err
	}
	ctx := a.audited(r, who, action, map[string]any{"reason": reason})
	if err := do(ctx, r.PathValue("id"), personOf(who, reason)); err != nil {
		return err
	}
	return a.showWithdrawal(w, r)
}

// endWithdrawal ends one that waits for operators. Where it needs two people it is asked for, and the answer is 202.
func (a *API) endWithdrawal(what ledger.Act) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		reason, reference, err := readReason(w, r, who, true)
		if err != nil {
			return err
		}
		d := ledger.Deed{Act: what, Target: r.PathValue("id"), Reference: reference}
		done, err := a.o.Approvals.Do(a.audited(r, who, string(what), map[string]any{"reason": reason,
			"reference": reference}), d, personOf(who, reason))
		switch {
		case err != nil:
			return err
		case done.Pending != nil:
			asks(w, done.Pending)
			return nil
		}
		a.tell(r.Context(), d, done)
		return a.showWithdrawal(w, r)
	}
}
