package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

// fixed lists the columns that the server's database user must not update, by table. nil: all columns, and no DELETE.
var fixed = map[string][]string{
	"txn": nil, "entry": nil, "payout": nil, "reclaim": nil, "reclaim_cut": nil, "deposit": nil,
	"withdrawal_event": nil,
	"audit":            nil, "block": nil, "root": nil, "campaign_amounts": nil,
	"archive": nil, "sanction": nil, "verdict": nil, "payee": nil,
	"seal_key": nil, "goose_db_version": nil,
	"campaign":   paytest.CampaignTerms(),
	"withdrawal": {"id", "user_id", "payee", "amount", "created_at", "txn_id", "request"},
	"move": {"id", "campaign_id", "from_shard", "to_shard", "numbers", "packets", "from_number", "epoch",
		"created_at"},
	"held": {"claim", "campaign_id", "packet", "user_id", "amount", "won_at", "drop_id", "verdict", "score", "reasons",
		"held_at", "hold_id"},
	"approval": {"id", "action", "target", "amount", "reference", "letter", "seen", "reason", "asked_by", "asked_id",
		"asked_at", "expires_at"},
}

// changing are the tables whose rows may be changed; removable those from which rows may be deleted, too.
var (
	changing = []string{"balance", "winner", "campaign_tally", "shard_epoch", "shard_mark", "rain",
		"dead_letter", "proof", "lease"}
	removable = []string{"attempt", "attempt_claim", "figure", "idempotency", "list_member", "player_list",
		"provider_pace"}
)

// TestTheServersUserCanOnlyAppend compares docs/rights.sql with the append-only rules on a real server: every column
// of every table, and every DELETE.
func TestTheServersUserCanOnlyAppend(t *testing.T) {
	t.Parallel()
	user, owner := paytest.OnRights(t)
	columns := map[string][]string{}
	testenv.Must(t, owner.DB.Each(t.Context(), func(scan sqldb.Scan) error {
		var table, column string
		err := scan(&table, &column)
		columns[table] = append(columns[table], column)
		return err
	}, "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() "+
		"AND table_name <> 'account'")) // a view: see the statements below
	refused := func(statement string) bool {
		t.Helper()
		_, err := user.DB.Exec(t.Context(), statement)
		if err != nil && !strings.Contains(err.Error(), "command denied") {
			t.Errorf("%s: %v", statement, err)
		}
		return err != nil
	}
	for table, all := range columns {
		held, known := fixed[table]
		if held == nil {
			held = all
		}
		switch {
		case known:
			for _, column := range all {
				if got, want := refused("UPDATE "+table+" SET "+column+" = "+column),
					slices.Contains(held, column); got != want {
					t.Errorf("%s.%s: a change is refused: %v, want %v", table, column, got, want)
				}
			}
		case !slices.Contains(changing, table) && !slices.Contains(removable, table):
			t.Errorf("say in docs/rights.sql, and here, what a server may do with the rows of the table %s", table)
		}
		if got, want := refused("DELETE FROM "+table), !slices.Contains(removable, table); got != want {
			t.Errorf("%s: a DELETE is refused: %v, want %v", table, got, want)
		}
	}
	for _, statement := range []string{"DROP TABLE audit", "TRUNCATE TABLE audit", "ALTER TABLE audit ADD x INT",
		"UPDATE account SET id = 'user:me'", "DELETE FROM account", "DROP VIEW account",
		"CREATE TABLE more (x INT)", "CREATE TRIGGER x BEFORE INSERT ON payout FOR EACH ROW SET NEW.amount = 1"} {
		if !refused(statement) {
			t.Errorf("not refused: %s", statement)
		}
	}
}
