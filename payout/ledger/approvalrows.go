package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"redrain/internal/sqldb"
)

func newApprovalID() string { return "a" + strings.ToLower(rand.Text()) }

var approvalColumns = []string{"id", "action", "target", "amount", "reference", "letter", "seen", "reason", "asked_by",
	"asked_id", "asked_at", "expires_at", "state", "decided_by", "decided_id", "decided_at", "decision"}

// writeApproval writes a new order.
func writeApproval(ctx context.Context, tx *sqldb.Tx, a Approval) error {
	row := [][]any{{
		a.ID, string(a.Act), a.Target, int64(a.Amount), a.Reference, a.Letter, a.seen,
		a.Asked.Reason, a.Asked.Name, a.Asked.ID, a.AskedAt, a.ExpiresAt,
		string(a.State), "", "", 0, "",
	}}
	return tx.Insert(ctx, "approval", approvalColumns, row, sqldb.Merge{})
}

// writeDecision writes how an order has ended.
func writeDecision(ctx context.Context, tx *sqldb.Tx, a Approval) error {
	_, err := tx.Exec(ctx, "UPDATE approval SET state = ?, decided_by = ?, decided_id = ?, decided_at = ?, "+
		"decision = ? WHERE id = ?", string(a.State), a.Decided.Name, a.Decided.ID, a.DecidedAt,
		a.Decided.Reason, a.ID)
	return err
}

// list reads orders. One that is too old is told as expired.
func (s *Approvals) list(ctx context.Context, q sqldb.Querier, where string, args ...any) ([]Approval, error) {
	return listApprovals(ctx, q, s.clock(), where, args...)
}

func listApprovals(ctx context.Context, q sqldb.Querier, now int64, where string, args ...any) ([]Approval, error) {
	return sqldb.List(ctx, q, func(scan sqldb.Scan) (a Approval, err error) {
		err = scan(&a.ID, &a.Act, &a.Target, &a.Amount, &a.Reference, &a.Letter, &a.seen, &a.Asked.Reason,
			&a.Asked.Name, &a.Asked.ID, &a.AskedAt, &a.ExpiresAt, &a.State, &a.Decided.Name, &a.Decided.ID,
			&a.DecidedAt, &a.Decided.Reason)
		if a.State == ApprovalPending && a.ExpiresAt <= now {
			a.State = ApprovalExpired
		}
		return a, err
	}, "SELECT "+strings.Join(approvalColumns, ", ")+" FROM approval "+where, args...)
}

// Approval is one order; ErrUnknownApproval where there is none.
func (s *Approvals) Approval(ctx context.Context, id string) (Approval, error) {
	list, err := s.list(ctx, s.db, "WHERE id = ?", id)
	if err == nil && len(list) == 0 {
		err = ErrUnknownApproval
	}
	if err != nil {
		return Approval{}, fmt.Errorf("order %q: %w", id, err)
	}
	return list[0], nil
}

// ListApprovals lists orders, the newest first; those in one state, or all where that is "". An empty cursor begins;
// next is empty on the last page.
func (s *Approvals) ListApprovals(ctx context.Context, state ApprovalState, cursor string,
	limit int) (list []Approval, next string, err error) {
	where, args := "WHERE asked_at >= ?", []any{int64(0)}
	lasting := s.clock() - approvalLasts.Milliseconds() // what was asked for after it has not expired
	switch state {
	case "":
	case ApprovalPending:
		where, args = "WHERE state = 'pending' AND asked_at > ?", []any{lasting}
	case ApprovalExpired:
		where, args = "WHERE state = 'pending' AND asked_at <= ?", []any{lasting}
	default:
		where, args = "WHERE state = ?", []any{string(state)}
	}
	if cursor != "" {
		at, id, ok := cutCursor(cursor)
		if !ok {
			return nil, "", ErrBadCursor
		}
		where, args = where+" AND (asked_at < ? OR asked_at = ? AND id < ?)", append(args, at, at, id)
	}
	list, err = s.list(ctx, s.db, where+" ORDER BY asked_at DESC, id DESC LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return nil, "", fmt.Errorf("listing orders: %w", err)
	}
	list, next = page(list, limit, func(last Approval) string { return joinCursor(last.AskedAt, last.ID) })
	return list, next, nil
}

// stateOfApproval is what the audit says of an order.
func stateOfApproval(a Approval) change {
	return change{"approval:" + a.ID, map[string]any{
		"state": a.State, "action": a.Act, "target": a.Target, "amount": a.Amount, "asked_by": a.Asked.Name,
	}}
}
