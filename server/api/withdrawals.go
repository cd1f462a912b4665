package api

import (
	"context"
	"net/http"
	"slices"

	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/cluster"
)

// newWithdrawalView is the answer to who has made one.
type newWithdrawalView struct {
	wire.Withdrawal

	Balance rain.Money `json:"balance"`
}

// withdrawalRecord is a withdrawal as operators see it.
type withdrawalRecord struct {
	wire.Withdrawal

	Dead      bool   `json:"dead"`
	Attempts  int    `json:"attempts"`
	NextAt    int64  `json:"next_at,omitempty"`    // while it is pending and not dead
	LastError string `json:"last_error,omitempty"` // of the last try
}

func withdrawalRecordOf(w ledger.Withdrawal) withdrawalRecord {
	r := withdrawalRecord{
		Withdrawal: cluster.WithdrawalView(w),
		Dead:       w.Dead,
		Attempts:   w.Attempts,
		LastError:  w.LastError,
	}
	if w.State == ledger.WithdrawalPending && !w.Dead {
		r.NextAt = w.NextAt
	}
	return r
}

// withdraw takes money out of the account of the player who asks. The id follows from the player and their key (see
// once), so that a request which was cut off, and is sent again however late, finds what it made the first time.
func (a *API) withdraw(r *http.Request, who caller, body []byte, key string) (int, any, error) {
	var in struct {
		Amount rain.Money `json:"amount"`
	}
	if err := decode(body, &in); err != nil {
		return 0, nil, err
	}
	if faults := checkAmount(in.Amount); faults != nil {
		return 0, nil, faults
	}
	w, balance, err := a.o.Withdrawals.Withdraw(r.Context(), campaigns.NewID("w", key), who.user, in.Amount)
	if err != nil {
		return 0, nil, err
	}
	a.o.WakePayer()
	return http.StatusCreated, newWithdrawalView{cluster.WithdrawalView(w), balance}, nil
}

func (a *API) myWithdrawals(w http.ResponseWriter, r *http.Request, who caller) error {
	return listWithdrawals(a, w, r, ledger.WithdrawalQuery{User: who.user}, cluster.WithdrawalView)
}

// myWithdrawal is one of the caller's withdrawals; another player's is unknown to them.
func (a *API) myWithdrawal(w http.ResponseWriter, r *http.Request, who caller) error {
	found, err := a.o.Withdrawals.Withdrawal(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if found.User != who.user {
		return ledger.ErrUnknownWithdrawal
	}
	WriteJSON(w, http.StatusOK, cluster.WithdrawalView(found))
	return nil
}

func (a *API) userWithdrawals(w http.ResponseWriter, r *http.Request, _ caller) error {
	return listWithdrawals(a, w, r, ledger.WithdrawalQuery{User: r.PathValue("id")}, withdrawalRecordOf)
}

func (a *API) withdrawals(w http.ResponseWriter, r *http.Request, _ caller) error {
	return listWithdrawals(a, w, r, ledger.WithdrawalQuery{}, withdrawalRecordOf)
}

// listWithdrawals lists withdrawals, newest first, all or those in the state that is asked for.
func listWithdrawals[V any](a *API, w http.ResponseWriter, r *http.Request, q ledger.WithdrawalQuery,
	view func(ledger.Withdrawal) V) error {
	q.State = ledger.WithdrawalState(r.URL.Query().Get("state"))
	states := []ledger.WithdrawalState{"", ledger.WithdrawalPending, ledger.WithdrawalPaid, ledger.WithdrawalFailed}
	if !slices.Contains(states, q.State) {
		return rain.Invalid{
			{Field: "state", Message: "is pending, paid or failed; dead letters are listed under /payouts"},
		}
	}
	return answerList(w, r, func(ctx context.Context, cursor string, limit int) ([]ledger.Withdrawal, string, error) {
		q.After, q.Limit = cursor, limit
		return a.o.Withdrawals.ListWithdrawals(ctx, q)
	}, view)
}
