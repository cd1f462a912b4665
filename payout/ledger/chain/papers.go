package chain

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
)

// The source rows of a kind of transaction: their tables, and their fixed columns in the order of the hash. The code
// that books such a transaction adds the same values to its Content, in the same order.
type paper struct {
	columns []string // in the order in which they are hashed
	from    string   // tables and joins
	id      string   // the column with the transaction's number
	order   string   // of the rows of one transaction
}

// The source rows by the kind of transaction. An audit record is its own source row.
var papers = map[string]paper{
	Audits:    {[]string{"at", "actor", "role", "action", "target", "detail", "request"}, Audits, "id", "id"},
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
	"withdraw": {[]string{"id", "user_id", "payee", "amount", "created_at"}, "withdrawal", "txn_id", "id"},
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

// endedWithdrawal are the columns of a withdrawal that has ended and of its events. The transaction that ends it covers
// all of them, because nothing changes them any more.
var endedWithdrawal = []string{"w.id", "w.user_id", "w.payee", "w.amount", "w.state", "w.receiver", "w.dead",
	"w.attempts", "w.next_at", "w.last_error", "w.reference", "w.action_kind", "w.action_url", "w.action_data",
	"w.action_until", "w.created_at", "w.sent_at", "w.waits_since", "w.finished_at", "e.at", "e.state", "e.actor",
	"e.reason", "e.receiver"}

const withdrawalEvents = "withdrawal w JOIN withdrawal_event e ON e.withdrawal_id = w.id"

// sum adds the hashes of the transactions' source rows to sums. A transaction without source rows gets no hash.
func (p paper) sum(ctx context.Context, q sqldb.Querier, ids []int64, sums map[int64]Hash) error {
	contents := map[int64]*Content{}
	var id int64
	values, dest := row(p.columns, &id)
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		if err := scan(dest...); err != nil {
			return err
		}
		if contents[id] == nil {
			contents[id] = &Content{}
		}
		contents[id].values(values)
		return nil
	}, "SELECT "+p.id+", "+strings.Join(p.columns, ", ")+" FROM "+p.from+" WHERE "+p.id+" IN "+sqldb.Marks(len(ids))+
		" ORDER BY "+p.id+", "+p.order, sqldb.Args(ids)...)
	for id, c := range contents {
		sums[id] = c.Sum()
	}
	return err
}

// row returns the values of columns, and the destinations of a scan of more columns and these.
func row(columns []string, more ...any) (values []sql.NullString, dest []any) {
	values = make([]sql.NullString, len(columns))
	for i := range values {
		more = append(more, &values[i])
	}
	return values, more
}

// PaperColumns are the columns of the source rows of a kind of transaction, or of the audit, in the order of the hash.
//
// If the rows come from several tables, each column has a table's short name before it:
//
//	c campaign, a campaign_amounts, r reclaim, cut reclaim_cut, w withdrawal, e withdrawal_event
func PaperColumns(kind string) []string { return slices.Clone(papers[kind].columns) }

// HashRows hashes a transaction's source rows, each with the values of its PaperColumns, or an audit record with those
// of PaperColumns(Audits). It is zero without rows.
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

// CheckTxns compares transactions, with their lines and source documents, with their stored hashes. It calls found
// for each that differs. It ignores ids without a transaction.
func CheckTxns(ctx context.Context, q sqldb.Querier, ids []int64, found func(fault string)) error {
	type txn struct {
		id            int64
		key, campaign string
		papers, hash  []byte
		content       Content
	}
	byID, kinds := map[int64]*txn{}, map[string][]int64{}
	var campaigns []string
	txns, err := sqldb.List(ctx, q, func(scan sqldb.Scan) (*txn, error) {
		t := &txn{}
		var kind string
		var at int64
		err := scan(&t.id, &kind, &t.key, &at, &t.papers, &t.hash)
		t.content.Txn(kind, t.key, at, t.papers)
		byID[t.id] = t
		kinds[kind] = append(kinds[kind], t.id)
		if kind == "pay" {
			t.campaign, _, _ = strings.Cut(strings.TrimPrefix(t.key, "pay:"), ".")
			campaigns = append(campaigns, t.campaign)
		}
		return t, err
	}, "SELECT id, kind, idem_key, created_at, papers, hash FROM txn WHERE id IN "+sqldb.Marks(len(ids))+" ORDER BY id",
		sqldb.Args(ids)...)
	if err != nil || len(txns) == 0 {
		return err
	}
	sums := map[int64]Hash{}
	for kind, of := range kinds {
		if p, known := papers[kind]; known {
			if err := p.sum(ctx, q, of, sums); err != nil {
				return fmt.Errorf("the papers of transactions of kind %s: %w", kind, err)
			}
		}
	}
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var id, line, amount int64
		var account string
		err := scan(&id, &line, &account, &amount)
		if t := byID[id]; t != nil {
			t.content.Int(line)
			t.content.Text(account)
			t.content.Int(amount)
		}
		return err
	}, "SELECT txn_id, line_no, account_id, amount FROM entry WHERE txn_id IN "+sqldb.Marks(len(ids))+
		" ORDER BY txn_id, line_no", sqldb.Args(ids)...)
	if err != nil {
		return err
	}
	removed, err := Removed(ctx, q, campaigns)
	for _, t := range txns {
		papers, is := sums[t.id], t.content.Sum()
		if !bytes.Equal(papers[:], t.papers) && !removed[t.campaign] || !bytes.Equal(is[:], t.hash) {
			found(fmt.Sprintf("transaction %d (%s) is not what was hashed: it, its lines or its papers were changed",
				t.id, t.key))
		}
	}
	return err
}

// Removed returns the campaigns whose payouts were removed after an export.
func Removed(ctx context.Context, q sqldb.Querier, campaigns []string) (map[string]bool, error) {
	removed, err := sqldb.PairsIn[string, bool](ctx, q, "SELECT campaign_id, 1 FROM archive WHERE campaign_id IN",
		campaigns)
	return removed, sqldb.Wrap(err, "read removed campaigns")
}

// Line is a line of a transaction.
type Line struct {
	Number  int64
	Account string
	Amount  int64
}

// HashTxn hashes a transaction, the hash of its source rows, and its lines.
func HashTxn(kind, key string, at int64, papers Hash, lines []Line) Hash {
	var c Content
	c.Txn(kind, key, at, papers[:])
	for _, l := range lines {
		c.Add(l.Number, l.Account, l.Amount)
	}
	return c.Sum()
}

// AuditRecord is a row of the audit.
type AuditRecord struct {
	At      int64 // Unix ms
	Actor   string
	Role    string
	Action  string
	Target  string
	Detail  string // JSON
	Request string // the id of the HTTP request, or ""
}

// AppendAudit inserts an audit record with its hash.
func AppendAudit(ctx context.Context, tx *sqldb.Tx, r AuditRecord) error {
	values := []any{r.At, r.Actor, r.Role, r.Action, r.Target, r.Detail, r.Request}
	var c Content
	c.Add(values...)
	hash := c.Sum()
	return tx.Insert(ctx, Audits, append(PaperColumns(Audits), "hash"), [][]any{append(values, hash[:])}, sqldb.Merge{})
}

// checkAudit is CheckTxns for audit records.
func checkAudit(ctx context.Context, q sqldb.Querier, ids []int64, found func(fault string)) error {
	var id int64
	var action string
	var hash []byte
	columns := PaperColumns(Audits)
	values, dest := row(columns, &id, &action, &hash)
	return q.Each(ctx, func(scan sqldb.Scan) error {
		if err := scan(dest...); err != nil {
			return err
		}
		if is := HashRows(values); !bytes.Equal(is[:], hash) {
			found(fmt.Sprintf("audit record %d (%s) is not what was hashed: it was changed", id, action))
		}
		return nil
	}, "SELECT id, action, hash, "+strings.Join(columns, ", ")+" FROM audit WHERE id IN "+
		sqldb.Marks(len(ids))+" ORDER BY id", sqldb.Args(ids)...)
}
