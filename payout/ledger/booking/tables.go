package booking

import "redrain/internal/sqldb"

// Where a posting writes.
var (
	intoTxn     = sqldb.Into{Table: "txn", Columns: []string{"kind", "idem_key", "created_at", "papers", "hash"}}
	intoEntry   = sqldb.Into{Table: "entry", Columns: []string{"txn_id", "line_no", "account_id", "amount"}}
	intoBalance = sqldb.Into{
		Table: "balance", Columns: []string{"account_id", "amount"},
		Merge: sqldb.Merge{Key: []string{"account_id"}, Add: []string{"amount"}},
	}
)
