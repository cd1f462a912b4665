package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Errors of operations that need two people.
var (
	ErrUnknownApproval = errors.New("no such order")
	ErrApprovalOver    = errors.New("the order is not pending: it was confirmed or rejected, or has expired")
	ErrSamePerson      = errors.New("you cannot confirm your own order; a second person has to")
	ErrNeedsName       = errors.New("this takes two named people, and a shared token names none: use a token " +
		"of your own")
	ErrChangedMeanwhile = errors.New("the target of the order has changed since the request; check it again, and " +
		"submit it again")
)

// Act is the kind of an operation that may need two people.
type Act string

// The acts.
const (
	ActDeposit Act = "deposit"         // add money to a sponsor's account
	ActRetry   Act = "payout.retry"    // post the dead letters of a claim, or try a withdrawal again
	ActDismiss Act = "payout.dismiss"  // end the dead letters of a claim unpaid
	ActPaid    Act = "withdrawal.paid" // its receiver has paid it, by the receiver's own books
	ActBack    Act = "withdrawal.back" // its receiver will never pay it: the player gets the money back
	// ActProvider sends new withdrawals to another receiver. A node requests it: see [Approvals.StartProvider].
	ActProvider Act = "provider"
)

// Deed is an operation on a target.
type Deed struct {
	Act       Act
	Target    string     // the sponsor, the claim, the withdrawal, or the receiver
	Amount    rain.Money // of a deposit; the ledger knows those of the others
	Reference string     // the deposit's, or the receiver's name for a payment
	Letter    int64      // the one dead letter of a claim to dismiss; 0: all
}

// ApprovalState is the state of an order that needs two people.
type ApprovalState string

// The states. An order that is pending for too long counts as expired.
const (
	ApprovalPending   ApprovalState = "pending"
	ApprovalConfirmed ApprovalState = "confirmed"
	ApprovalRejected  ApprovalState = "rejected"
	ApprovalExpired   ApprovalState = "expired"
)

// approvalLasts is the time in which an order can be confirmed.
const approvalLasts = 24 * time.Hour

// Approval is an order that one person requests, and another confirms or rejects. Times are Unix ms.
type Approval struct {
	Deed

	ID        string
	Asked     Person // the requester, and the reason
	AskedAt   int64
	ExpiresAt int64
	State     ApprovalState
	Decided   Person // the person who confirmed or rejected it; empty while it is pending
	DecidedAt int64

	seen string // the state of the target at the request
}

// Outcome is the result of an operation, or the order that waits.
type Outcome struct {
	Pending   *Approval            // waits for a second person, and nothing was done; nil: it was done
	Balance   rain.Money           // of a deposit: the sponsor's balance
	Settled   []posting.Settlement // of a retry
	Dismissed Dismissed
}

// Approvals carry out operations that may need two people.
type Approvals struct {
	db          *sqldb.DB
	clock       rain.Clock
	sponsors    *Sponsors
	letters     *DeadLetters
	withdrawals *Withdrawals
	above       *rain.Money
}

// Above returns the same approvals with a limit: only operations on more than limit need two people. If limit is nil,
// marking a withdrawal as paid and returning one always do.
func (s *Approvals) Above(limit *rain.Money) *Approvals {
	limited := *s
	limited.above = limit
	return &limited
}

// needTwo reports whether an operation needs two people.
func (s *Approvals) needTwo(what Act, l targetState) bool {
	if s.above != nil {
		return l.unknown || l.amount > *s.above
	}
	return what == ActPaid || what == ActBack
}

// Do carries an operation out, or requests it if it needs two people. A second request of a pending operation returns
// the first order. The outcome has the settled claims, also with an error.
func (s *Approvals) Do(ctx context.Context, d Deed, by Person) (o Outcome, err error) {
	by, d.Reference = by.stored(), sqldb.Storable(d.Reference, maxReference)
	l, err := s.readTarget(ctx, s.db, d)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s of %q: %w", d.Act, d.Target, err)
	}
	d.Amount = l.amount
	switch {
	case l.done || !s.needTwo(d.Act, l):
		return s.carryOut(ctx, d, l, by)
	case by.Nameless:
		return Outcome{}, ErrNeedsName
	}
	a, err := s.ask(ctx, d, l, by)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s of %q: %w", d.Act, d.Target, err)
	}
	return Outcome{Pending: &a}, nil
}

func (s *Approvals) ask(ctx context.Context, d Deed, l targetState, by Person) (a Approval, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now := s.clock()
		same, err := approvalTable.List(ctx, tx, "WHERE state = ? AND action = ? AND target = ? AND expires_at > ? "+
			"ORDER BY asked_at DESC, id DESC", ApprovalPending, string(d.Act), d.Target, now)
		if err != nil {
			return err
		}
		for _, a = range same {
			if a.Amount == d.Amount && a.Reference == d.Reference && a.seen == l.seen {
				return nil
			}
		}
		a = Approval{
			Deed: d, ID: "a" + strings.ToLower(rand.Text()), Asked: by, AskedAt: now,
			ExpiresAt: now + approvalLasts.Milliseconds(), State: ApprovalPending, seen: l.seen,
		}
		if err := approvalTable.Insert(ctx, tx, sqldb.Merge{}, a); err != nil {
			return err
		}
		return auditChange(auditAs(ctx, string(d.Act)+".ask", nil), tx, now, change{}, stateOfApproval(a))
	})
	return a, err
}

// Confirm carries out another person's order, in one transaction with the confirmation.
func (s *Approvals) Confirm(ctx context.Context, id string, by Person) (a Approval, o Outcome, err error) {
	if by = by.stored(); by.Nameless {
		return a, o, ErrNeedsName
	}
	a, err = s.decide(ctx, id, ApprovalConfirmed, by, func(ctx context.Context, tx *sqldb.Tx, a Approval) error {
		o = Outcome{}
		if by.is(a.Asked) {
			return ErrSamePerson
		}
		l, err := s.readTarget(ctx, tx, a.Deed)
		if errors.Is(err, ErrUnknownClaim) || errors.Is(err, ErrNotWaiting) ||
			err == nil && (l.seen != a.seen || l.amount != a.Amount) {
			err = ErrChangedMeanwhile
		}
		if err != nil {
			return err
		}
		ctx = auditAs(sqldb.Joined(ctx, s.db, tx), string(a.Act), map[string]any{
			"approval": a.ID, "asked_by": a.Asked.Name, "reason": a.Asked.Reason, "confirmed": by.Reason,
		})
		who := Person{Name: by.Name, ID: by.ID, Reason: a.Asked.Reason + "; asked for by " + a.Asked.Name}
		if by.Reason != "" {
			who.Reason += "; confirmed: " + by.Reason
		}
		o, err = s.carryOut(ctx, a.Deed, l, who)
		switch {
		case posting.MayBePoison(err): // the dead letter cannot be posted; nothing was
			return fmt.Errorf("%w: %w", ErrStillDead, err)
		case err == nil && len(o.Dismissed.Kept) > 0: // roll back their writes
			return fmt.Errorf("%w: %s", ErrNotDismissed, strings.Join(o.Dismissed.Kept, "; "))
		}
		return err
	})
	if err != nil {
		return a, Outcome{Dismissed: o.Dismissed}, err
	}
	return a, o, nil
}

// Reject ends an order. Its requester may do so, too.
func (s *Approvals) Reject(ctx context.Context, id string, by Person) (a Approval, err error) {
	by = by.stored()
	return s.decide(ctx, id, ApprovalRejected, by, func(ctx context.Context, tx *sqldb.Tx, a Approval) error {
		is := a
		is.State, is.Decided = ApprovalRejected, by
		return auditChange(auditAs(ctx, string(a.Act)+".reject", nil), tx, s.clock(), stateOfApproval(a),
			stateOfApproval(is))
	})
}

// decide ends a pending order, after do.
func (s *Approvals) decide(ctx context.Context, id string, state ApprovalState, by Person,
	do func(ctx context.Context, tx *sqldb.Tx, a Approval) error) (a Approval, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		a, err = approvalTable.Get(ctx, tx, ErrUnknownApproval, "WHERE id = ?"+tx.ForUpdate(), id)
		if err == nil && a.isAt(s.clock()).State != ApprovalPending {
			err = ErrApprovalOver
		}
		if err != nil {
			return err
		}
		if err := do(ctx, tx, a); err != nil {
			return err
		}
		a.State, a.Decided, a.DecidedAt = state, by, s.clock()
		_, err = tx.Exec(ctx, "UPDATE approval SET state = ?, decided_by = ?, decided_id = ?, decided_at = ?, "+
			"decision = ? WHERE id = ?", string(a.State), by.Name, by.ID, a.DecidedAt, by.Reason, a.ID)
		return err
	})
	if err != nil {
		return Approval{}, fmt.Errorf("order %q: %w", id, err)
	}
	return a, nil
}

var approvalTable = sqldb.NewTable("approval", func(a *Approval) []any {
	return []any{
		"id", &a.ID, "action", &a.Act, "target", &a.Target, "amount", &a.Amount, "reference", &a.Reference,
		"letter", &a.Letter, "seen", &a.seen, "reason", &a.Asked.Reason, "asked_by", &a.Asked.Name,
		"asked_id", &a.Asked.ID, "asked_at", &a.AskedAt, "expires_at", &a.ExpiresAt, "state", &a.State,
		"decided_by", &a.Decided.Name, "decided_id", &a.Decided.ID, "decided_at", &a.DecidedAt,
		"decision", &a.Decided.Reason,
	}
})

// isAt returns the order as it is at a time: a pending one may have expired.
func (a Approval) isAt(now int64) Approval {
	if a.State == ApprovalPending && a.ExpiresAt <= now {
		a.State = ApprovalExpired
	}
	return a
}

// Approval reads one order. It fails with ErrUnknownApproval if there is none.
func (s *Approvals) Approval(ctx context.Context, id string) (Approval, error) {
	a, err := approvalTable.Get(ctx, s.db, ErrUnknownApproval, "WHERE id = ?", id)
	return a.isAt(s.clock()), sqldb.Wrap(err, "order %q", id)
}

// ListApprovals lists orders, the newest first; state "" is all. "" is the first cursor, and next on the last page.
func (s *Approvals) ListApprovals(ctx context.Context, state ApprovalState, cursor string,
	limit int) (list []Approval, next string, err error) {
	lasting := s.clock() - approvalLasts.Milliseconds() // later orders have not expired
	var where sqldb.Where
	switch state {
	case "":
	case ApprovalPending:
		where.And("state = 'pending' AND asked_at > ?", lasting)
	case ApprovalExpired:
		where.And("state = 'pending' AND asked_at <= ?", lasting)
	default:
		where.And("state = ?", string(state))
	}
	list, next, err = approvalTable.ListPage(ctx, s.db, where, "asked_at DESC, id DESC", cursor, limit)
	for i := range list {
		list[i] = list[i].isAt(s.clock())
	}
	return list, next, sqldb.Wrap(err, "list orders")
}

func stateOfApproval(a Approval) change {
	return change{"approval:" + a.ID, map[string]any{
		"state": a.State, "action": a.Act, "target": a.Target, "amount": a.Amount, "asked_by": a.Asked.Name,
	}}
}
