package export

import (
	"context"
	"database/sql"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
)

// table is an exported table. The export has all its rows of the campaign.
type table struct {
	name    string
	columns []string
	of      string // the column with the campaign's id
	key     string // the other columns of the primary key, which give the order; "": there is one row
}

// wholeTables come first in a file, in this order. Transactions with their lines and payouts come after them.
var wholeTables = []table{
	{name: "campaign", of: "id", columns: ledger.CampaignTable.Columns()},
	{name: "campaign_amounts", of: "campaign_id", columns: []string{"campaign_id", "amounts"}},
	{name: "rain", of: "campaign_id", key: "ordinal", columns: ledger.RainTable.Columns()},
	{name: "campaign_tally", of: "campaign_id", columns: []string{"campaign_id", "paid", "amount_paid", "reclaimed",
		"amount_reclaimed"}},
	{name: "shard_epoch", of: "campaign_id", key: "shard", columns: []string{"campaign_id", "shard", "attempt",
		"barrier_ms", "fenced_at"}},
	{name: "shard_mark", of: "campaign_id", key: "shard", columns: []string{"campaign_id", "shard", "entry_ms",
		"entry_seq"}},
	{name: "move", of: "campaign_id", key: "id", columns: []string{"id", "campaign_id", "from_shard", "to_shard",
		"numbers", "packets", "from_number", "to_number", "epoch", "created_at", "done_at"}},
	{name: "dead_letter", of: "campaign_id", key: "id", columns: []string{"id", "fingerprint", "claim", "source",
		"kind", "campaign_id", "shard", "packet", "user_id", "amount", "won_at", "entry_seq", "reason", "payload",
		"created_at", "resolved_at"}},
	{name: "reclaim", of: "campaign_id", key: "shard, closed_at, entry_seq", columns: []string{"campaign_id", "shard",
		"numbers", "packets", "amount", "closed_at", "entry_seq", "reclaimed_at", "txn_id"}},
	{name: "reclaim_cut", of: "campaign_id", key: "shard, closed_at, entry_seq", columns: []string{"campaign_id",
		"shard", "closed_at", "entry_seq", "asked", "given", "numbers", "reason", "created_at"}},
}

// The tables that are read in another way.
var (
	txns    = table{name: "txn", columns: []string{"id", "kind", "idem_key", "created_at", "papers", "hash"}}
	entries = table{name: "entry", columns: []string{"txn_id", "line_no", "account_id", "amount"}}
	payouts = table{name: "payout", columns: []string{"campaign_id", "packet", "claim", "user_id", "amount", "state",
		"drop_id", "shard", "won_at", "entry_seq", "settled_at", "txn_id"}}
	audits = table{name: "audit", columns: []string{"id", "at", "actor", "role", "action", "target", "detail",
		"request", "hash"}}
)

func (t table) heading() heading { return heading{t.name, t.columns} }

// query selects all columns of the table.
func (t table) query() string {
	return "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name + " "
}

// rowsOf reads rows of any columns as text.
func rowsOf(ctx context.Context, q sqldb.Querier, columns int, query string, args ...any) ([][]value, error) {
	return sqldb.List(ctx, q, func(scan sqldb.Scan) ([]value, error) {
		row := make([]value, columns)
		dest := make([]any, columns)
		for i := range row {
			dest[i] = (*sql.NullString)(&row[i])
		}
		return row, scan(dest...)
	}, query, args...)
}
