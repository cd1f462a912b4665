package ledger

import (
	"context"

	"redrain/internal/sqldb"
)

// PendingOrders are the orders about withdrawals that wait for a second person, by the id of their withdrawal; of
// several the newest. One that was asked for before something else has happened to its withdrawal is none.
func (s *Withdrawals) PendingOrders(ctx context.Context, of ...Withdrawal) (map[string]Approval, error) {
	orders := map[string]Approval{}
	var ids []string
	for _, w := range of {
		if w.takes(ActBack) {
			ids = append(ids, w.ID)
		}
	}
	if len(ids) == 0 {
		return orders, nil
	}
	list, err := approvalTable.List(ctx, s.db, "WHERE state = 'pending' AND action IN (?, ?) AND target IN "+
		sqldb.Marks(len(ids))+" ORDER BY asked_at, id",
		append([]any{string(ActPaid), string(ActBack)}, sqldb.Args(ids)...)...)
	for _, a := range list {
		if err != nil || a.isAt(s.clock()).State != ApprovalPending {
			continue
		}
		var newest string
		if newest, err = newestEvent(ctx, s.db, a.Target); newest == a.seen {
			orders[a.Target] = a
		}
	}
	return orders, sqldb.Wrap(err, "reading the orders that are pending")
}
