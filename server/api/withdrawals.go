package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"redrain/client/openapi"
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
func (a *API) withdrawal(q *request) (any, error) {
	found, err := a.o.Withdrawals.Withdrawal(q.Context(), q.id())
	if err != nil {
		return nil, err
	}
	history, err := a.o.Withdrawals.WithdrawalHistory(q.Context(), found.ID)
	if err != nil {
		return nil, err
	}
	orders, err := a.o.Withdrawals.PendingOrders(q.Context(), found)
	record := withdrawalRecordOf(found, orders)
	for _, e := range history {
		record.History = append(record.History, openapi.WithdrawalEvent{At: e.At, Stage: string(e.State),
			Actor: e.Actor, Reason: e.Reason})
	}
	return record, err
}

// withdraw takes money out of the caller's account. The id follows from the player and the key (see once). So a
// repeated request finds the withdrawal of the interrupted one at any later time.
func (a *API) withdraw(q *request) (any, error) {
	in, err := bodyOf(q, openapi.NewWithdrawal{})
	if err != nil {
		return nil, err
	}
	var wrong faults
	if wrong.checkAmount(in.Amount); len(wrong) > 0 {
		return nil, wrong.err()
	}
	if err := a.o.MayPlay(q.Context(), nil, q.user, clientip.RequestKey(q.Request)); err != nil {
		return nil, err
	}
	if err := a.linkPayee(q); err != nil {
		return nil, err
	}
	id := campaigns.NewID("w", q.key)
	hold, err := a.vetWithdrawal(q, id, in.Amount)
	if err != nil {
		return nil, err
	}
	var w ledger.Withdrawal
	var balance rain.Money
	if hold != "" {
		w, balance, err = a.o.Withdrawals.WithdrawHeld(q.Context(), id, q.user, in.Amount, hold)
	} else {
		w, balance, err = a.o.Withdrawals.Withdraw(q.Context(), id, q.user, in.Amount)
	}
	if err != nil {
		return nil, err
	}
	a.o.WakePayer()
	return created(openapi.Withdrawn{Withdrawal: cluster.WithdrawalView(w), Balance: balance}), nil
}

// linkPayee links the payee of the caller's token to the caller.
func (a *API) linkPayee(q *request) error {
	if len(q.grant.Payee) == 0 {
		return nil
	}
	return a.o.Payees.Link(q.Context(), q.user, q.grant.Payee, q.grant.Issued)
}

// payees returns the caller's masked payees by provider. An account of another app of the provider in use is left out.
func (a *API) payees(q *request) (map[string]string, error) {
	err := a.linkPayee(q)
	if _, malformed := errors.AsType[rain.Invalid](err); err != nil && !malformed { // the withdrawal reports it
		return nil, err
	}
	list, err := a.o.Payees.Of(q.Context(), q.user)
	masked, used := map[string]string{}, ledger.Payee{Kind: a.o.PayeeKind}
	for _, p := range list {
		if p.Kind == used.Kind || p.Provider() != used.Provider() {
			masked[p.Provider()] = p.Masked()
		}
	}
	return masked, err
}

func (a *API) myWithdrawals(q *request) (any, error) {
	return listWithdrawals(q, ledger.WithdrawalStates(), a.o.Withdrawals.ListWithdrawals, cluster.WithdrawalView)
}

// myWithdrawal answers with one of the caller's withdrawals; that of another player is unknown.
func (a *API) myWithdrawal(q *request) (any, error) {
	found, err := a.o.Withdrawals.Withdrawal(q.Context(), q.id())
	if err == nil && found.User != q.user {
		err = ledger.ErrUnknownWithdrawal
	}
	return cluster.WithdrawalView(found), err
}

// withdrawals lists withdrawals as operators see them, with the orders that are pending: all, or those of a player.
func (a *API) withdrawals(q *request) (any, error) {
	var orders map[string]ledger.Approval
	read := func(ctx context.Context, query ledger.WithdrawalQuery) ([]ledger.Withdrawal, string, error) {
		list, next, err := a.o.Withdrawals.ListWithdrawals(ctx, query)
		if err == nil {
			orders, err = a.o.Withdrawals.PendingOrders(ctx, list...)
		}
		return list, next, err
	}
	return listWithdrawals(q, append(ledger.WithdrawalStates(), ledger.WithdrawalDead), read,
		func(w ledger.Withdrawal) openapi.WithdrawalRecord { return withdrawalRecordOf(w, orders) })
}

// listWithdrawals lists the withdrawals of the caller or of the player in the path, newest first: all, or those in the
// requested state.
func listWithdrawals[V any](q *request, states []ledger.WithdrawalState,
	read func(context.Context, ledger.WithdrawalQuery) ([]ledger.Withdrawal, string, error),
	view func(ledger.Withdrawal) V) (any, error) {
	query := ledger.WithdrawalQuery{User: cmp.Or(q.user, q.id()), State: ledger.WithdrawalState(q.query("state"))}
	if query.State != "" && !slices.Contains(states, query.State) {
		return nil, invalid("state", "is one of %s", states)
	}
	return listed(q, func(ctx context.Context, cursor string, limit int) ([]ledger.Withdrawal, string, error) {
		query.After, query.Limit = cursor, limit
		return read(ctx, query)
	}, view)
}

// holdWithdrawal stops a withdrawal before a payment is requested.
func (a *API) holdWithdrawal(q *request) (any, error) {
	return a.orderWithdrawal(q, "withdrawal.hold", a.o.Withdrawals.Hold)
}

// releaseWithdrawal releases a held withdrawal for payment.
func (a *API) releaseWithdrawal(q *request) (any, error) {
	defer a.o.WakePayer()
	return a.orderWithdrawal(q, "withdrawal.release", a.o.Withdrawals.Release)
}

// orderWithdrawal executes an act that one person may do alone.
func (a *API) orderWithdrawal(q *request, action string,
	do func(ctx context.Context, id string, by ledger.Person) error) (any, error) {
	reason, _, err := readReason(q, true)
	if err != nil {
		return nil, err
	}
	if err := do(q.audited(action, detail{"reason": reason}), q.id(), q.person(reason)); err != nil {
		return nil, err
	}
	return a.withdrawal(q)
}

// endWithdrawal ends a withdrawal that waits for operators. If that needs two people, it is ordered, and the answer is
// 202.
func (a *API) endWithdrawal(what ledger.Act) handler {
	return func(q *request) (any, error) {
		reason, reference, err := readReason(q, true)
		if err != nil {
			return nil, err
		}
		d := ledger.Deed{Act: what, Target: q.id(), Reference: reference}
		done, err := a.o.Approvals.Do(q.audited(string(what), detail{"reason": reason, "reference": reference}), d,
			q.person(reason))
		if err != nil || done.Pending != nil {
			return pending(done), err
		}
		a.notify(q.Context(), d, done)
		return a.withdrawal(q)
	}
}

// overLimit answers a withdrawal above the players' limits.
func overLimit(w http.ResponseWriter, l *ledger.LimitError) {
	p := problem{Status: http.StatusForbidden, Code: "guests_cannot_withdraw", Detail: l.Error()}
	switch l.Limit {
	case ledger.LimitLeast:
		p.Status, p.Code = http.StatusUnprocessableEntity, "withdrawal_too_small"
	case ledger.LimitMost:
		p.Status, p.Code = http.StatusUnprocessableEntity, "withdrawal_too_large"
	case ledger.LimitDay, ledger.LimitPayee:
		p.Status, p.Code = http.StatusConflict, "daily_limit"
	case ledger.LimitHour:
		p.Status, p.Code = http.StatusTooManyRequests, "hourly_limit"
		w.Header().Set("Retry-After", retryAfter(l.After))
	}
	writeProblem(w, p)
}
