package ledger

import (
	"context"
	"errors"
	"fmt"

	"redrain/internal/requestid"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Withdrawals reads and writes the withdrawals, which are the payer's queue.
type Withdrawals struct {
	db     *sqldb.DB
	clock  rain.Clock
	limits PlayerLimits
	pace   ReceiverLimits
	payees string // the kind of payee that a withdrawal needs; "": none
}

// Withdrawal is a player's withdrawal.
type Withdrawal struct {
	ID         string
	User       string
	Payee      string // the account that it is paid to: see Payee.String; "" if the provider needs none
	Amount     rain.Money
	State      WithdrawalState
	Receiver   string // the receiver of its first try; "" before
	Dead       bool   // open, but not tried any more: a dead letter
	Attempts   int    // tries without a clear answer: a retry by operators and a Waiting reset it
	Tries      int64  // all tries; it never falls, so it identifies a lease
	NextAt     int64  // time of the next try, Unix ms; during a try, the end of its lease
	LastError  string // the failure of the last try, or the reason of a wait, refusal or return
	Reference  string // the provider's, if known
	Action     Action // required of the player, in the state WithdrawalAction
	CreatedAt  int64  // Unix ms
	SentAt     int64  // of the first try, Unix ms; 0 before
	WaitsSince int64  // of the receiver's first Waiting, Unix ms; 0: none
	FinishedAt int64  // when it was paid, refused or returned, Unix ms; 0 while it is open
	Request    string // the id of the player's HTTP request; "": none

	txn         int64 // the transaction that debited the player
	NotBefore   int64 // of a leased one: the start of the try, Unix ms; 0: at once
	AskedBefore bool  // of a leased one: this is not the first try, so the receiver may have it
}

// Action is the player's part before the receiver pays: open a URL, or pass data to the receiver's own app.
type Action struct {
	Kind  string // ActionWeChat, or "" if Data is in the receiver's own form
	URL   string
	Data  string
	Until int64 // Unix ms; 0: unknown
}

// ActionWeChat is the kind of an action whose Data is a JSON object with mch_id, app_id and package: the parameters of
// requestMerchantTransfer in WeChat.
const ActionWeChat = "wechat"

// Withdraw moves money from a player's account to their clearing account, all of it or nothing. The Payer then has it
// paid. The id belongs to the request. A second call with it returns the existing withdrawal in its present state and
// moves nothing. balance is the player's.
//
// The errors are booking.ErrInsufficientFunds, ErrInvalidAmount, ErrWithdrawalsHeld, ErrBanned, standing.ErrDenied,
// ErrNoPayee, a *LimitError, and ErrIdempotencyUnequal if another withdrawal has the id. After any other error the
// withdrawal may exist or not, and a second call is right.
func (s *Withdrawals) Withdraw(ctx context.Context, id, user string,
	amount rain.Money) (w Withdrawal, balance rain.Money, err error) {
	return s.withdraw(ctx, id, user, amount, entering{})
}

// WithdrawHeld is Withdraw with state held: it is not sent before an operator has released it. An existing withdrawal
// stays as it is.
func (s *Withdrawals) WithdrawHeld(ctx context.Context, id, user string, amount rain.Money,
	why string) (w Withdrawal, balance rain.Money, err error) {
	return s.withdraw(ctx, id, user, amount, entering{heldBy: ByService, why: why})
}

// entering has the options of a new withdrawal.
type entering struct {
	late   bool   // entered after a restore, while others are held
	heldBy string // the actor that holds it; "": it is not held
	why    string // the reason why it is held
}

func (s *Withdrawals) withdraw(ctx context.Context, id, user string, amount rain.Money,
	how entering) (w Withdrawal, balance rain.Money, err error) {
	if err := rain.CheckUser(user); err != nil {
		return w, 0, fmt.Errorf("withdrawal %s: %w", id, err)
	}
	if amount < 1 || amount > rain.MaxBudget {
		return w, 0, fmt.Errorf("withdraw %d: %w", amount, ErrInvalidAmount)
	}
	out := booking.Move(booking.KindWithdraw, "withdraw:"+id, booking.UserAccount(user), booking.ClearingAccount(user),
		amount)
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now := s.clock()
		payee, err := s.payeeOf(ctx, tx, user)
		if err != nil {
			return err
		}
		var paper chain.Content
		paper.Add(id, user, payee, amount, now)
		out.Papers = paper.Sum()
		_, err = booking.BookOnce(ctx, tx, now, out, func(b booking.Booked) error {
			w = Withdrawal{ID: id, User: user, Payee: payee, Amount: amount, State: WithdrawalRequested, NextAt: now,
				CreatedAt: now, Request: requestid.Of(ctx), txn: b.IDs[out.Key]}
			return s.enter(ctx, tx, now, w, s.review(how, amount))
		})
		if errors.Is(err, booking.ErrKeyReused) {
			return ErrIdempotencyUnequal
		}
		if err == nil {
			w, _, err = readWithdrawal(ctx, tx, id)
		}
		if err == nil {
			balance, _, err = booking.BalanceOf(ctx, tx, booking.UserAccount(user))
		}
		return err
	})
	if err != nil {
		return Withdrawal{}, 0, fmt.Errorf("withdrawal %s: %w", id, err)
	}
	return w, balance, nil
}

// enter writes a withdrawal and its first events, if the player may withdraw.
func (s *Withdrawals) enter(ctx context.Context, tx *sqldb.Tx, now int64, w Withdrawal, how entering) error {
	if how.heldBy != "" {
		w.State = WithdrawalHeld
	}
	if err := withdrawalTable.Insert(ctx, tx, sqldb.Merge{}, w); err != nil {
		return err
	}
	if !how.late {
		if err := s.mayWithdraw(ctx, tx, now, w); err != nil {
			return err
		}
	}
	err := writeEvent(ctx, tx, now, w.ID, WithdrawalEvent{State: WithdrawalRequested, Actor: "player:" + w.User})
	if err != nil || how.heldBy == "" {
		return err
	}
	return writeEvent(ctx, tx, now, w.ID, WithdrawalEvent{State: WithdrawalHeld, Actor: how.heldBy,
		Reason: "held: " + how.why})
}

// mayWithdraw fails during an open restore, and without a payee if one is needed. It fails for a player who is banned,
// denied by a list or at a limit.
func (s *Withdrawals) mayWithdraw(ctx context.Context, tx *sqldb.Tx, now int64, w Withdrawal) error {
	if s.payees != "" && w.Payee == "" {
		return ErrNoPayee
	}
	if restore, err := newestRestore(ctx, tx); err != nil {
		return err
	} else if restore.Open {
		return ErrWithdrawalsHeld
	}
	if out, err := banned(ctx, tx, w.User); err != nil {
		return err
	} else if out {
		return ErrBanned
	}
	if out, err := standing.IsDenied(ctx, tx, w.User); err != nil {
		return err
	} else if out {
		return standing.ErrDenied
	}
	return s.checkLimits(ctx, tx, now, w)
}

// endedPapers hashes an ended withdrawal and its events as source documents. Neither changes any more.
func endedPapers(ctx context.Context, q sqldb.Querier, w Withdrawal) (chain.Hash, error) {
	var c chain.Content
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var at int64
		var state, actor, reason, receiver string
		err := scan(&at, &state, &actor, &reason, &receiver)
		c.Add(w.ID, w.User, w.Payee, w.Amount, w.State, w.Receiver, w.Dead, w.Attempts, w.NextAt, w.LastError,
			w.Reference, w.Action.Kind, w.Action.URL, w.Action.Data, w.Action.Until, w.CreatedAt, w.SentAt,
			w.WaitsSince, w.FinishedAt)
		c.Add(at, state, actor, reason, receiver)
		return err
	}, "SELECT at, state, actor, reason, receiver FROM withdrawal_event WHERE withdrawal_id = ? ORDER BY id", w.ID)
	return c.Sum(), err
}

var withdrawalTable = sqldb.NewTable("withdrawal", func(w *Withdrawal) []any {
	return []any{"id", &w.ID, "user_id", &w.User, "payee", &w.Payee, "amount", &w.Amount, "state", &w.State,
		"receiver", &w.Receiver, "dead", &w.Dead, "attempts", &w.Attempts, "tries", &w.Tries, "next_at", &w.NextAt,
		"last_error", &w.LastError, "reference", &w.Reference, "action_kind", &w.Action.Kind,
		"action_url", &w.Action.URL,
		"action_data", &w.Action.Data, "action_until", &w.Action.Until, "created_at", &w.CreatedAt,
		"sent_at", &w.SentAt, "waits_since", &w.WaitsSince, "finished_at", &w.FinishedAt, "request", &w.Request,
		"txn_id", &w.txn}
})

func readWithdrawal(ctx context.Context, q sqldb.Querier, id string) (w Withdrawal, found bool, err error) {
	return withdrawalTable.Find(ctx, q, "WHERE id = ?", id)
}

// Withdrawal reads one withdrawal. It fails with ErrUnknownWithdrawal if there is none.
func (s *Withdrawals) Withdrawal(ctx context.Context, id string) (Withdrawal, error) {
	w, err := withdrawalTable.Get(ctx, s.db, ErrUnknownWithdrawal, "WHERE id = ?", id)
	return w, sqldb.Wrap(err, "withdrawal %q", id)
}

// WithdrawalQuery selects withdrawals.
type WithdrawalQuery struct {
	User  string          // "" = all players
	State WithdrawalState // "" = all; pending, failed and dead stand for several
	After string          // the cursor; "" begins
	Limit int             // at least 1
}

// ListWithdrawals lists withdrawals, the newest first. next is "" on the last page.
func (s *Withdrawals) ListWithdrawals(ctx context.Context,
	q WithdrawalQuery) (list []Withdrawal, next string, err error) {
	var where sqldb.Where
	if q.User != "" {
		where.And("user_id = ?", q.User)
	}
	if q.State != "" {
		states := q.State.each()
		where.And("state IN "+sqldb.Marks(len(states)), sqldb.Args(states)...)
	}
	if q.State == WithdrawalDead {
		where.And("dead = 1")
	}
	list, next, err = withdrawalTable.ListPage(ctx, s.db, where, "created_at DESC, id DESC", q.After, q.Limit)
	return list, next, sqldb.Wrap(err, "list withdrawals")
}

// CountPending counts the open withdrawals, including dead letters.
func (s *Withdrawals) CountPending(ctx context.Context) (n int64, err error) {
	_, err = s.db.First(ctx, []any{&n}, "SELECT COUNT(*) FROM withdrawal WHERE state IN "+
		sqldb.Marks(len(openStates)), sqldb.Args(openStates)...)
	return n, err
}
