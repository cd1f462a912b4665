package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/server/timeout"
)

// retryPayout checks a dead letter again, or has a withdrawal tried again. What is settled by that is told to its
// player like every settlement.
func (a *API) retryPayout(w http.ResponseWriter, r *http.Request, who caller) error {
	claim := r.PathValue("claim")
	done, err := a.o.Approvals.Do(a.audited(r, who, "payout.retry", nil),
		ledger.Deed{Act: ledger.ActRetry, Target: claim}, personOf(who, ""))
	settled := done.Settled
	a.o.Notifier.Retried(r.Context(), settled) // also what was settled before an error
	if err != nil {
		return err
	}
	if done.Pending != nil {
		asks(w, done.Pending)
		return nil
	}
	out, err := a.o.Withdrawals.Withdrawal(r.Context(), claim)
	switch {
	case err == nil:
		a.o.WakePayer()
		return answer(w, openapi.Claim{Claim: out.ID, User: out.User, Amount: out.Amount, At: out.CreatedAt,
			State: stateFailed}, nil)
	case !errors.Is(err, ledger.ErrUnknownWithdrawal):
		return err
	}
	retried := openapi.Claim{Claim: claim, State: string(ledger.StateSettled)} // of a reclaim there is no more to say
	for _, s := range settled {
		retried = openapi.Claim{
			Claim: s.Claim, User: s.User, Packet: strconv.Itoa(s.Packet), Amount: s.Amount, At: s.WonAt,
			State: string(ledger.StateSettled),
		}
	}
	return answer(w, retried, nil)
}

// retryAllPayouts checks every dead letter again, or those of one campaign.
func (a *API) retryAllPayouts(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := bodyOf(w, r, who, openapi.RetryAllPayoutsJSONBody{})
	if err != nil {
		return err
	}
	if in.Campaign != "" {
		if _, err := a.o.Campaigns.Get(r.Context(), in.Campaign); err != nil {
			return err
		}
	}
	// The answer is to arrive within the time that a command may take.
	ctx, cancel := context.WithTimeout(a.audited(r, who, "payout.retry", nil), timeout.Command-timeout.Backend)
	defer cancel()
	all, failed := a.o.Approvals.RetryAll(ctx, in.Campaign, func(settled []posting.Settlement) {
		a.o.Notifier.Retried(ctx, settled)
	})
	a.o.WakePayer() // withdrawals may be among them
	if failed != nil && all.Retried == 0 {
		return failed
	}
	if failed != nil {
		a.o.Log.Warn("not all dead letters could be checked", "checked", all.Retried, "err", failed)
	}
	done := openapi.Retried{Retried: all.Retried, Settled: all.Settled, StillDead: all.StillDead, NeedTwo: all.NeedTwo,
		Complete: failed == nil}
	a.audit(r, who, "payout.retry_all", in.Campaign, map[string]any{"retried": all.Retried, "settled": all.Settled,
		"still_dead": all.StillDead})
	return answer(w, done, nil)
}
