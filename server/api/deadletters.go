package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"redrain/client/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/timeout"
)

// stateFailed is the state of a failed withdrawal that is retried.
const stateFailed = "failed"

func (a *API) deadLetters(q *request) (any, error) {
	if s := q.query("state"); s != "" && s != string(ledger.StateDead) {
		return nil, invalid("state", "is dead; the other claims are listed under their campaign")
	}
	return listed(q, a.o.DeadLetters.ListDeadLetters, func(d posting.DeadLetter) openapi.DeadLetter {
		return openapi.DeadLetter{
			Letter: strconv.FormatInt(d.ID, 10), Claim: d.Claim, Campaign: d.Campaign, User: d.User,
			Packet: strconv.Itoa(d.Packet), Amount: d.Amount, At: d.WonAt, State: string(ledger.StateDead),
			Kind: d.Kind, Reason: d.Reason, CreatedAt: d.CreatedAt,
		}
	})
}

// retryPayout checks a dead letter again, or retries a withdrawal. Players are notified of settlements as usual.
func (a *API) retryPayout(q *request) (any, error) {
	claim := q.PathValue("claim")
	done, err := a.o.Approvals.Do(q.audited("payout.retry", nil), ledger.Deed{Act: ledger.ActRetry, Target: claim},
		q.person(""))
	a.o.Notifier.Retried(q.Context(), done.Settled) // also those settled before an error
	if err != nil || done.Pending != nil {
		return pending(done), err
	}
	out, err := a.o.Withdrawals.Withdrawal(q.Context(), claim)
	switch {
	case err == nil:
		a.o.WakePayer()
		return openapi.Claim{Claim: out.ID, User: out.User, Amount: out.Amount, At: out.CreatedAt,
			State: stateFailed}, nil
	case !errors.Is(err, ledger.ErrUnknownWithdrawal):
		return nil, err
	}
	retried := openapi.Claim{Claim: claim, State: string(ledger.StateSettled)} // a reclaim has no more fields
	for _, s := range done.Settled {
		retried.Claim, retried.User, retried.Packet = s.Claim, s.User, strconv.Itoa(s.Packet)
		retried.Amount, retried.At = s.Amount, s.WonAt
	}
	return retried, nil
}

// retryAllPayouts checks every dead letter again, or those of one campaign.
func (a *API) retryAllPayouts(q *request) (any, error) {
	in, err := bodyOf(q, openapi.RetryAllPayoutsJSONBody{})
	if err != nil {
		return nil, err
	}
	if in.Campaign != "" {
		if _, err := a.o.Campaigns.Get(q.Context(), in.Campaign); err != nil {
			return nil, err
		}
	}
	// The answer must arrive within the limit of a command.
	ctx, cancel := context.WithTimeout(q.audited("payout.retry", nil), timeout.Command-timeout.Backend)
	defer cancel()
	all, failed := a.o.Approvals.RetryAll(ctx, in.Campaign, func(settled []posting.Settlement) {
		a.o.Notifier.Retried(ctx, settled)
	})
	a.o.WakePayer() // withdrawals may be among them
	if failed != nil && all.Retried == 0 {
		return nil, failed
	}
	if failed != nil {
		a.o.Log.WarnContext(ctx, "check all dead letters", "checked", all.Retried, "err", failed)
	}
	a.audit(q, "payout.retry_all", in.Campaign, detail{"retried": all.Retried, "settled": all.Settled,
		"still_dead": all.StillDead})
	return openapi.Retried{Retried: all.Retried, Settled: all.Settled, StillDead: all.StillDead, NeedTwo: all.NeedTwo,
		Complete: failed == nil}, nil
}

// maxDismissReason is the length limit of the reason of a dismissal, in bytes.
const maxDismissReason = 200

// dismissPayout ends dead letters that no player or sponsor has a right to.
func (a *API) dismissPayout(q *request) (any, error) {
	in, err := bodyOf(q, openapi.DismissPayoutJSONBody{})
	if err != nil {
		return nil, err
	}
	if err := rain.CheckText(in.Reason, maxDismissReason); err != nil {
		return nil, invalid("reason", "%s", err)
	}
	letter := int64(0)
	if in.Letter != "" {
		if letter, err = strconv.ParseInt(in.Letter, 10, 64); err != nil || letter <= 0 {
			return nil, invalid("letter", "is the id of a dead letter, as they are listed")
		}
	}
	claim := q.PathValue("claim")
	out, err := a.o.Approvals.Do(q.audited("payout.dismiss", detail{"reason": in.Reason}),
		ledger.Deed{Act: ledger.ActDismiss, Target: claim, Letter: letter}, q.person(in.Reason))
	done := out.Dismissed
	if err != nil || out.Pending != nil {
		return pending(out), notDismissed(err, done)
	}
	return openapi.Dismissed{Claim: claim, Dismissed: done.Letters, Reclaimed: done.Reclaimed,
		Kept: append([]string{}, done.Kept...)}, nil
}

// notDismissed adds to an error why dead letters were kept.
func notDismissed(err error, d ledger.Dismissed) error {
	if errors.Is(err, ledger.ErrNotDismissed) {
		return refuse(http.StatusConflict, "not_dismissed", strings.Join(d.Kept, "; "))
	}
	return err
}
