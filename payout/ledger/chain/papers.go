package chain

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
)

// paper describes the source rows of a kind of transaction, and lists their fixed columns in the order of the hash.
// The code that books such a transaction adds the same values to the Content of its papers, in the same order.
type paper struct {
	columns []string // in the order in which they are hashed
	from    string   // tables and joins
	id      string   // the column with the transaction's number
	order   string   // of the rows of one transaction
}

// papers by the kind of transaction.
var papers = map[string]paper{
	"deposit": {[]string{"sponsor", "reference", "amount", "actor", "created_at"}, "deposit", "txn_id", "reference"},
	"fund": {[]string{"c.id", "c.name", "c.sponsor", "c.budget", "c.packets", "c.split", "c.min_amount",
		"c.max_amount", "c.wins_per_user", "c.taps_per_user", "c.shards", "c.capacity", "c.admit_per_second",
		"c.expires_in_ms", "c.created_at",
		"c.players_list", "c.guests_share", "c.split_seed", "a.amounts"},
		"txn t JOIN campaign c ON c.id = SUBSTR(t.idem_key, 6) LEFT JOIN campaign_amounts a ON a.campaign_id = c.id",
		"t.id", "c.id"},
	"pay": {[]string{"campaign_id", "packet", "claim", "user_id", "amount", "state", "drop_id", "shard", "won_at",
		"entry_seq", "settled_at"}, "payout", "txn_id", "packet"},
	"reclaim": {[]string{"r.campaign_id", "r.shard", "r.numbers", "r.packets", "r.amount", "r.closed_at", "r.entry_seq",
		"r.reclaimed_at", "cut.asked", "cut.given", "cut.numbers", "cut.reason", "cut.created_at"},
		"reclaim r LEFT JOIN reclaim_cut cut ON cut.campaign_id = r.campaign_id AND cut.shard = r.shard " +
			"AND cut.closed_at = r.closed_at AND cut.entry_seq = r.entry_seq", "r.txn_id", "r.closed_at"},
	"withdraw": {[]string{"id", "user_id", "amount", "created_at"}, "withdrawal", "txn_id", "id"},
	"paid":     {endedWithdrawal, withdrawalEvents, "w.paid_id", "e.id"},
	"return":   {endedWithdrawal, withdrawalEvents, "w.return_id", "e.id"},
	"hold":     {heldWin, "held", "hold_id", "claim"},
	"release":  {decidedWin, "held", "release_id", "claim"},
	"confirm":  {decidedWin, "held", "confirm_id", "claim"},
}

// heldWin are the columns of a held win that never change, and decidedWin those that are written when it is released or
// confirmed.
var (
	heldWin = []string{"claim", "campaign_id", "packet", "user_id", "amount", "won_at", "drop_id", "verdict", "score",
		"reasons", "held_at"}
	decidedWin = []string{"claim", "campaign_id", "packet", "user_id", "amount", "state", "decided_by", "decision",
		"decided_at"}
)

// endedWithdrawal are the columns of a withdrawal that has ended and of its events: nothing changes them any more, so
// the transaction that ends it holds all of them.
var endedWithdrawal = []string{"w.id", "w.user_id", "w.amount", "w.state", "w.receiver", "w.dead", "w.attempts",
	"w.next_at", "w.last_error", "w.reference", "w.action_url", "w.action_data", "w.action_until", "w.created_at",
	"w.sent_at", "w.waits_since", "w.finished_at", "e.at", "e.state", "e.actor", "e.reason", "e.receiver"}

const withdrawalEvents = "withdrawal w JOIN withdrawal_event e ON e.withdrawal_id = w.id"

// readPapers reads the hashes of the papers of transactions of a kind. One without papers is missing in the answer.
func readPapers(ctx context.Context, q sqldb.Querier, kind string, ids []int64) (map[int64]Hash, error) {
	sums := map[int64]Hash{}
	p, known := papers[kind]
	if !known {
		return sums, nil
	}
	contents := map[int64]*Content{}
	values := make([]sql.NullString, len(p.columns))
	var id int64
	dest := []any{&id}
	for i := range values {
		dest = append(dest, &values[i])
	}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		if err := scan(dest...); err != nil {
			return err
		}
		c := contents[id]
		if c == nil {
			c = &Content{}
			contents[id] = c
		}
		c.values(values)
		return nil
	}, "SELECT "+p.id+", "+strings.Join(p.columns, ", ")+" FROM "+p.from+" WHERE "+p.id+" IN "+sqldb.Marks(len(ids))+
		" ORDER BY "+p.id+", "+p.order, sqldb.Args(ids)...)
	if err != nil {
		return nil, fmt.Errorf("the papers of transactions of kind %s: %w", kind, err)
	}
	for id, c := range contents {
		sums[id] = c.Sum()
	}
	return sums, nil
}

// What follows hashes rows without their database, as an export has them.

// PaperColumns are the columns of the papers of a kind of transaction that its hash covers, in the order in which they
// are hashed. Where the papers come from several tables, each column has a table's short name before it: c campaign,
// a campaign_amounts, r reclaim, cut reclaim_cut, w withdrawal, e withdrawal_event.
func PaperColumns(kind string) []string { return slices.Clone(papers[kind].columns) }

// AuditColumns are the columns of an audit record that its hash covers, in the order in which they are hashed.
func AuditColumns() []string { return slices.Clone(auditColumns) }

// Line is a line of a transaction.
type Line struct {
	Number  int64
	Account string
	Amount  int64
}

// HashRows hashes the papers of a transaction, each with the values of its PaperColumns, or an audit record with those
// of its AuditColumns. It is zero without rows.
func HashRows(rows ...[]sql.NullString) (sum Hash) {
	if len(rows) == 0 {
		return sum
	}
	var c Content
	for _, values := range rows {
		c.values(values)
	}
	return c.Sum()
}

// HashTxn hashes a transaction, the hash of its papers, and its lines.
func HashTxn(kind, key string, at int64, papers Hash, lines []Line) Hash {
	var c Content
	c.Txn(kind, key, at, papers[:])
	for _, l := range lines {
		c.Add(l.Number, l.Account, l.Amount)
	}
	return c.Sum()
}
