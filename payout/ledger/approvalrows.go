package ledger

import (
	"context"

	"redrain/internal/sqldb"
)

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

// ListApprovals lists orders, the newest first. It lists one state, or all if state is "". "" is the first cursor.
// next is "" on the last page.
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

// stateOfApproval is an order as the audit records it.
func stateOfApproval(a Approval) change {
	return change{"approval:" + a.ID, map[string]any{
		"state": a.State, "action": a.Act, "target": a.Target, "amount": a.Amount, "asked_by": a.Asked.Name,
	}}
}
