package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/clientip"
	"redrain/server/cluster"
)

func withdrawalRecordOf(w ledger.Withdrawal, orders map[string]ledger.Approval) openapi.WithdrawalRecord {
	r := openapi.WithdrawalRecord{
		Withdrawal: cluster.WithdrawalView(w), Receiver: w.Receiver, SentAt: w.SentAt,
		Dead: w.Dead, Attempts: w.Attempts, LastError: w.LastError,
	}
	if w.State.Open() && w.State != ledger.WithdrawalHeld && !w.Dead {
		r.NextAt = w.NextAt
	}
	if o, waits := orders[w.ID]; waits {
		r.Order = &openapi.PendingOrder{Approval: o.ID, What: strings.TrimPrefix(string(o.Act), "withdrawal."),
			By: o.Asked.Name, Reason: o.Asked.Reason, AskedAt: o.AskedAt, Until: o.ExpiresAt}
	}
	return r
}

// withdrawal answers with one withdrawal as operators see it, with its history.
func (a *API) withdrawal(w http.ResponseWriter, r *http.Request, _ caller) error {
	return a.showWithdrawal(w, r)
}

func (a *API) showWithdrawal(w http.ResponseWriter, r *http.Request) error {
	found, err := a.o.Withdrawals.Withdrawal(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	history, err := a.o.Withdrawals.WithdrawalHistory(r.Context(), found.ID)
	if err != nil {
		return err
	}
	orders, err := a.o.Withdrawals.PendingOrders(r.Context(), found)
	if err != nil {
		return err
	}
	record := withdrawalRecordOf(found, orders)
	for _, e := range history {
		record.History = append(record.History, openapi.WithdrawalEvent{
			At: e.At, Stage: string(e.State), Actor: e.Actor,
			Reason: e.Reason})
	}
	return answer(w, record, nil)
}

// withdraw takes money out of the caller's account. The id follows from the player and the key (see once). So a
// repeated request finds the withdrawal of the interrupted one at any later time.
func (a *API) withdraw(r *http.Request, who caller, body []byte, key string) (int, any, error) {
	var in openapi.NewWithdrawal
	if err := decode(body, &in); err != nil {
		return 0, nil, err
	}
	var wrong faults
	if wrong.checkAmount(in.Amount); len(wrong) > 0 {
		return 0, nil, wrong.err()
	}
	if err := a.o.MayPlay(r.Context(), nil, who.user, clientip.RequestKey(r)); err != nil {
		return 0, nil, err
	}
	id := campaigns.NewID("w", key)
	hold, err := a.vetWithdrawal(r, id, who.user, in.Amount)
	if err != nil {
		return 0, nil, err
	}
	var w ledger.Withdrawal
	var balance rain.Money
	if hold != "" {
		w, balance, err = a.o.Withdrawals.WithdrawHeld(r.Context(), id, who.user, in.Amount, hold)
	} else {
		w, balance, err = a.o.Withdrawals.Withdraw(r.Context(), id, who.user, in.Amount)
	}
	if err != nil {
		return 0, nil, err
	}
	a.o.WakePayer()
	return http.StatusCreated, openapi.Withdrawn{Withdrawal: cluster.WithdrawalView(w), Balance: balance}, nil
}

func (a *API) myWithdrawals(w http.ResponseWriter, r *http.Request, who caller) error {
	return listWithdrawals(w, r, ledger.WithdrawalStates(), ledger.WithdrawalQuery{User: who.user},
		a.o.Withdrawals.ListWithdrawals, cluster.WithdrawalView)
}

// myWithdrawal answers with one of the caller's withdrawals; that of another player is unknown.
func (a *API) myWithdrawal(w http.ResponseWriter, r *http.Request, who caller) error {
	found, err := a.o.Withdrawals.Withdrawal(r.Context(), r.PathValue("id"))
	if err == nil && found.User != who.user {
		err = ledger.ErrUnknownWithdrawal
	}
	return answerAs(w, found, err, cluster.WithdrawalView)
}

func (a *API) userWithdrawals(w http.ResponseWriter, r *http.Request, _ caller) error {
	return a.listRecords(w, r, ledger.WithdrawalQuery{User: r.PathValue("id")})
}

func (a *API) withdrawals(w http.ResponseWriter, r *http.Request, _ caller) error {
	return a.listRecords(w, r, ledger.WithdrawalQuery{})
}

// listRecords lists withdrawals as operators see them, with the orders that are pending.
func (a *API) listRecords(w http.ResponseWriter, r *http.Request, q ledger.WithdrawalQuery) error {
	var orders map[string]ledger.Approval
	read := func(ctx context.Context, q ledger.WithdrawalQuery) (list []ledger.Withdrawal, next string, err error) {
		if list, next, err = a.o.Withdrawals.ListWithdrawals(ctx, q); err == nil {
			orders, err = a.o.Withdrawals.PendingOrders(ctx, list...)
		}
		return list, next, err
	}
	return listWithdrawals(w, r, append(ledger.WithdrawalStates(), ledger.WithdrawalDead), q, read,
		func(w ledger.Withdrawal) openapi.WithdrawalRecord { return withdrawalRecordOf(w, orders) })
}

// listWithdrawals lists withdrawals, newest first: all, or those in the requested state.
func listWithdrawals[V any](w http.ResponseWriter, r *http.Request, states []ledger.WithdrawalState,
	q ledger.WithdrawalQuery,
	read func(context.Context, ledger.WithdrawalQuery) ([]ledger.Withdrawal, string, error),
	view func(ledger.Withdrawal) V) error {
	q.State = ledger.WithdrawalState(r.URL.Query().Get("state"))
	if q.State != "" && !slices.Contains(states, q.State) {
		return rain.Invalid{{Field: "state", Message: fmt.Sprintf("is one of %s", states)}}
	}
	return answerList(w, r, func(ctx context.Context, cursor string, limit int) ([]ledger.Withdrawal, string, error) {
		q.After, q.Limit = cursor, limit
		return read(ctx, q)
	}, view)
}

// holdWithdrawal stops a withdrawal before a payment is requested.
func (a *API) holdWithdrawal(w http.ResponseWriter, r *http.Request, who caller) error {
	return a.orderWithdrawal(w, r, who, "withdrawal.hold", a.o.Withdrawals.Hold)
}

// releaseWithdrawal releases a held withdrawal for payment.
func (a *API) releaseWithdrawal(w http.ResponseWriter, r *http.Request, who caller) error {
	defer a.o.WakePayer()
	return a.orderWithdrawal(w, r, who, "withdrawal.release", a.o.Withdrawals.Release)
}

// orderWithdrawal executes an act that one person may do alone.
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

// endWithdrawal ends a withdrawal that waits for operators. If that needs two people, it is ordered, and the answer is
// 202.
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
		a.notify(r.Context(), d, done)
		return a.showWithdrawal(w, r)
	}
}

// overLimit answers a withdrawal above the players' limits.
func overLimit(w http.ResponseWriter, l *ledger.LimitError) {
	p := problem{Status: http.StatusForbidden, Code: "guests_cannot_withdraw", Detail: l.Error()}
	switch l.Limit {
	case ledger.LimitLeast:
		p.Status, p.Code = http.StatusUnprocessableEntity, "withdrawal_too_small"
	case ledger.LimitDay:
		p.Status, p.Code = http.StatusConflict, "daily_limit"
	case ledger.LimitHour:
		p.Status, p.Code = http.StatusTooManyRequests, "hourly_limit"
		w.Header().Set("Retry-After", strconv.Itoa(int((l.After+time.Second-1)/time.Second)))
	}
	writeProblem(w, p)
}
