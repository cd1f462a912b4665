package e2e

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/server/config"
)

// byHand is somebody with a database client.
type byHand struct {
	t  *testing.T
	db *sql.DB
}

func newByHand(t *testing.T, driver, dsn string) *byHand {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	testenv.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return &byHand{t, db}
}

func (b *byHand) do(statements ...string) {
	b.t.Helper()
	for _, s := range statements {
		if _, err := b.db.ExecContext(within(b.t, 20*time.Second), s); err != nil {
			b.t.Fatalf("%s: %v", s, err)
		}
	}
}

// allOf selects a table as it is.
func allOf(table string) string {
	return "SELECT * FROM " + table //nolint:unqueryvet // a copy, whatever the columns are
}

// corruptions are what somebody with a database client may do to the second win of four, and what names it.
var corruptions = map[string]struct{ sql, name string }{
	"a line": {"UPDATE entry SET amount = amount + 1 WHERE txn_id = TXN AND line_no = LINE",
		"transaction TXN (pay), line LINE: user:user-1 gets MORE, but should be AMOUNT by CLAIM"},
	"a payout": {
		"UPDATE payout SET amount = amount + 1 WHERE packet = PACKET",
		"payout of packet PACKET (claim CLAIM, player user-1, amount MORE, transaction TXN): the split says AMOUNT",
	},
	"a balance": {"UPDATE balance SET amount = amount + 1 WHERE account_id = 'user:user-1'",
		"the balance of user:user-1 is MORE, but its entries sum to AMOUNT"},
	"all of it consistently": {
		`UPDATE entry SET amount = amount + 1 WHERE txn_id = TXN AND line_no = LINE;
		UPDATE entry SET amount = amount - 1 WHERE txn_id = TXN AND line_no = 0;
		UPDATE payout SET amount = amount + 1 WHERE packet = PACKET;
		UPDATE balance SET amount = amount + 1 WHERE account_id = 'user:user-1';
		UPDATE balance SET amount = amount - 1 WHERE account_id = 'escrow:CAMPAIGN';
		UPDATE campaign_tally SET amount_paid = amount_paid + 1`,
		"payout of packet PACKET (claim CLAIM, player user-1, amount MORE, transaction TXN): the split says AMOUNT",
	},
	"a line deleted": {"DELETE FROM entry WHERE txn_id = TXN AND line_no = LINE",
		"transaction TXN (pay) has no line for user:user-1, who should have AMOUNT by CLAIM"},
	"a payout deleted": {"DELETE FROM payout WHERE packet = PACKET",
		"claim CLAIM (packet PACKET, player user-1, amount AMOUNT, outbox entry "},
	"a transaction deleted": {"DELETE FROM entry WHERE txn_id = TXN; DELETE FROM txn WHERE id = TXN",
		"payout of packet PACKET (claim CLAIM, player user-1, amount AMOUNT, transaction TXN): " +
			"there is no such transaction"},
	"every trace of a payment deleted": {
		`DELETE FROM entry WHERE txn_id = TXN;
		DELETE FROM txn WHERE id = TXN;
		DELETE FROM payout WHERE txn_id = TXN;
		UPDATE balance SET amount = (SELECT SUM(amount) FROM entry WHERE account_id = 'escrow:CAMPAIGN')
			WHERE account_id = 'escrow:CAMPAIGN';
		UPDATE balance SET amount = 0
			WHERE account_id LIKE 'user:%' AND account_id NOT IN (SELECT account_id FROM entry);
		UPDATE campaign_tally
			SET paid = (SELECT COUNT(*) FROM payout), amount_paid = (SELECT SUM(amount) FROM payout)`,
		"claim CLAIM (packet PACKET, player user-1, amount AMOUNT, outbox entry ",
	},
}

// TestACorruptedLedgerIsFound changes rows by hand, under a running node. `redrain reconcile` exits with 1 and names
// the row; when it is as it was, with 0.
func TestACorruptedLedgerIsFound(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		testenv.Parallel(t, testenv.Light)
		s := realSetting(t)
		corrupt(t, s.config(), "mysql", s.mysql)
	})
	t.Run("sqlite", func(t *testing.T) {
		testenv.Parallel(t, testenv.Light)
		cfg := setting{}.config()
		cfg.DataDir = t.TempDir()
		corrupt(t, cfg, "sqlite", "file:"+filepath.Join(cfg.DataDir, "ledger.db")+"?_pragma=busy_timeout(20000)")
	})
}

// corrupt plays all corruptions on a node whose ledger is at dsn.
func corrupt(t *testing.T, cfg config.Config, driver, dsn string) {
	t.Helper()
	n := startNode(t, cfg)
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "corrupt", 10_000, 20), "")
	testenv.Must(t, err)
	wantBooks(t, n, c.ID, "nobody has won", cli.ExitOK)
	won := winners(t, n, c.ID, 4)
	awaitBooks(t, n.client, c.ID)
	wantBooks(t, n, c.ID, "before", cli.ExitOK, "every cent is accounted for")

	hand := newByHand(t, driver, dsn)
	tables := []string{"txn", "entry", "balance", "payout", "campaign_tally"}
	for _, table := range tables {
		hand.do("CREATE TABLE kept_" + table + " AS " + allOf(table))
	}
	w, amount := won[1], won[1].Amount
	var txn, line int64
	const lineOf = "SELECT e.txn_id, e.line_no FROM entry e WHERE account_id = 'user:user-1'"
	testenv.Must(t, hand.db.QueryRowContext(t.Context(), lineOf).Scan(&txn, &line))
	in := func(format string) string {
		return strings.NewReplacer("TXN", fmt.Sprint(txn), "LINE", fmt.Sprint(line), "PACKET", w.Packet, "CLAIM",
			w.Claim, "MORE", fmt.Sprint(int64(amount)+1),
			"AMOUNT", fmt.Sprint(int64(amount)), "CAMPAIGN", c.ID).Replace(format)
	}
	for what, fault := range corruptions {
		hand.do(strings.Split(in(fault.sql), ";")...)
		wantBooks(t, n, c.ID, what, cli.ExitFailure, in(fault.name))
		for _, table := range tables {
			hand.do("DELETE FROM "+table, "INSERT INTO "+table+" "+allOf("kept_"+table))
		}
		wantBooks(t, n, c.ID, what+", undone", cli.ExitOK)
	}
}
