package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/timeout"
)

// stateFailed is the state of a failed withdrawal that is retried.
const stateFailed = "failed"

func (a *API) deadLetters(w http.ResponseWriter, r *http.Request, _ caller) error {
	if s := r.URL.Query().Get("state"); s != "" && s != string(ledger.StateDead) {
		return rain.Invalid{{Field: "state", Message: "is dead; the other claims are listed under their campaign"}}
	}
	return answerList(w, r, a.o.DeadLetters.ListDeadLetters, func(d posting.DeadLetter) openapi.DeadLetter {
		return openapi.DeadLetter{
			Letter: strconv.FormatInt(d.ID, 10), Claim: d.Claim, Campaign: d.Campaign, User: d.User,
			Packet: strconv.Itoa(d.Packet), Amount: d.Amount, At: d.WonAt, State: string(ledger.StateDead),
			Kind: d.Kind, Reason: d.Reason, CreatedAt: d.CreatedAt,
		}
	})
}

// retryPayout checks a dead letter again, or retries a withdrawal. Players are notified of settlements as usual.
func (a *API) retryPayout(w http.ResponseWriter, r *http.Request, who caller) error {
	claim := r.PathValue("claim")
	done, err := a.o.Approvals.Do(a.audited(r, who, "payout.retry", nil),
		ledger.Deed{Act: ledger.ActRetry, Target: claim}, personOf(who, ""))
	settled := done.Settled
	a.o.Notifier.Retried(r.Context(), settled) // also those settled before an error
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
	retried := openapi.Claim{Claim: claim, State: string(ledger.StateSettled)} // a reclaim has no more fields
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
	// The answer must arrive within the limit of a command.
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
		a.o.Log.Warn("check all dead letters", "checked", all.Retried, "err", failed)
	}
	done := openapi.Retried{Retried: all.Retried, Settled: all.Settled, StillDead: all.StillDead, NeedTwo: all.NeedTwo,
		Complete: failed == nil}
	a.audit(r, who, "payout.retry_all", in.Campaign, map[string]any{"retried": all.Retried, "settled": all.Settled,
		"still_dead": all.StillDead})
	return answer(w, done, nil)
}

// maxDismissReason is the length limit of the reason of a dismissal, in bytes.
const maxDismissReason = 200

// dismissPayout ends dead letters that no player or sponsor has a right to.
func (a *API) dismissPayout(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := bodyOf(w, r, who, openapi.DismissPayoutJSONBody{})
	if err != nil {
		return err
	}
	if in.Reason == "" || len(in.Reason) > maxDismissReason {
		return rain.Invalid{{Field: "reason", Message: fmt.Sprintf("is required: a reason of 1 to %d bytes",
			maxDismissReason)}}
	}
	letter := int64(0)
	if in.Letter != "" {
		if letter, err = strconv.ParseInt(in.Letter, 10, 64); err != nil || letter <= 0 {
			return rain.Invalid{{Field: "letter", Message: "is the id of a dead letter, as they are listed"}}
		}
	}
	claim := r.PathValue("claim")
	out, err := a.o.Approvals.Do(a.audited(r, who, "payout.dismiss", map[string]any{"reason": in.Reason}),
		ledger.Deed{Act: ledger.ActDismiss, Target: claim, Letter: letter}, personOf(who, in.Reason))
	if err != nil {
		return notDismissed(err, out.Dismissed)
	}
	if out.Pending != nil {
		asks(w, out.Pending)
		return nil
	}
	done := out.Dismissed
	kept := done.Kept
	if kept == nil {
		kept = []string{}
	}
	return answer(w, openapi.Dismissed{Claim: claim, Dismissed: done.Letters, Reclaimed: done.Reclaimed,
		Kept: kept}, nil)
}

// notDismissed adds to an error why dead letters were kept.
func notDismissed(err error, d ledger.Dismissed) error {
	if errors.Is(err, ledger.ErrNotDismissed) {
		return refuse(http.StatusConflict, "not_dismissed", strings.Join(d.Kept, "; "))
	}
	return err
}
