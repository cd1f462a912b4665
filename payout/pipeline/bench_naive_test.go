package pipeline

import (
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

// eachCrowd runs a benchmark for players who have won before, and for new ones.
func eachCrowd(b *testing.B, do func(b *testing.B, user func(int) string, known bool)) {
	b.Helper()
	for name, players := range map[string]int{"known players": benchKnown, "new players": rain.MaxPackets} {
		b.Run(name, func(b *testing.B) {
			do(b, func(n int) string { return fmt.Sprintf("player-%d", n*7919%players) }, players == benchKnown)
		})
	}
}

func reportRates(b *testing.B, redrain, naive, bare *contender) {
	b.Helper()
	b.ReportMetric(redrain.rate()/naive.rate(), "redrain/naive")
	b.ReportMetric(bare.rate()/redrain.rate(), "bare/redrain")
	b.ReportMetric(naive.cost()/redrain.cost(), "naive/redrain-cpu")
}

// benchWins are those of one entry.
func benchWins(first int, user func(int) string) []rain.Win {
	list := make([]rain.Win, benchEntry)
	for i := range list {
		list[i] = paytest.Win(user(first+i), first+i, 88)
	}
	return list
}

// benchTables is a database with redrain's tables and an escrow, through a driver as one would set it up.
func benchTables(b *testing.B) (db *sql.DB, server string) {
	b.Helper()
	dsn := testenv.MySQL(b)
	tables := paytest.NewBooks(b, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	tables.OpenCampaign(b, "c1", rain.Spec{Budget: rain.MaxBudget / 2, Packets: rain.MaxPackets,
		Split: rain.DoubleMean})
	db, err := sql.Open("mysql", dsn+"?interpolateParams=true&tx_isolation=%27READ-COMMITTED%27")
	paytest.Must(b, err)
	db.SetMaxIdleConns(benchWorkers)
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db, serverOf(b, tables.DB)
}

func inSQLTx(db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// naivePost settles one win in a transaction of its own.
func naivePost(b *testing.B, c *contender, user func(int) string) func(n int) error {
	b.Helper()
	db, server := benchTables(b)
	c.takesPart("redrain", self)
	c.takesPart("mariadbd", server)
	prepare := func(query string) *sql.Stmt {
		s, err := db.Prepare(query)
		paytest.Must(b, err)
		b.Cleanup(func() { _ = s.Close() })
		return s
	}
	txn := prepare("INSERT INTO txn (kind, idem_key, created_at, papers, hash) VALUES ('pay', ?, ?, '', '')")
	lines := prepare("INSERT INTO entry (txn_id, line_no, account_id, amount) VALUES (?, 0, 'escrow:c1', ?), (?, 1, " +
		"?, ?)")
	payout := prepare("INSERT INTO payout (" + strings.Join(payoutColumns,
		", ") + ") VALUES " + sqldb.Marks(len(payoutColumns)))
	c.meet = func(b *testing.B) {
		b.Helper()
		all := strings.TrimSuffix(strings.Repeat("(?,88),", benchKnown/10), ",") // in ten statements
		for first := 0; first < benchKnown; first += benchKnown / 10 {
			names := make([]any, benchKnown/10)
			for i := range names {
				names[i] = "user:" + user(first+i)
			}
			paytest.Must(b, testenv.Err(db.Exec("INSERT INTO balance (account_id, amount) VALUES "+all, names...)))
		}
	}
	credit := prepare("INSERT INTO balance (account_id, amount) VALUES (?, ?) ON DUPLICATE KEY UPDATE amount = " +
		"amount + VALUES(amount)")
	debit := prepare("UPDATE balance SET amount = amount - ? WHERE account_id = 'escrow:c1' AND amount >= ?")
	return func(n int) error {
		return inSQLTx(db, func(tx *sql.Tx) error {
			res, err := tx.Stmt(txn).Exec(fmt.Sprintf("pay:c1:%d", n), benchNow) //nolint:sqlclosecheck // tx does
			if err != nil {
				return err
			}
			id, err := res.LastInsertId()
			if err != nil {
				return err
			}
			for _, step := range []struct {
				*sql.Stmt
				args []any
			}{
				{lines, []any{id, -88, id, "user:" + user(n), 88}},
				{payout, benchPayout(n, id, user)},
				{credit, []any{"user:" + user(n), 88}},
				{debit, []any{88, 88}},
			} {
				if _, err := tx.Stmt(step.Stmt).Exec(step.args...); err != nil { //nolint:sqlclosecheck // as above
					return err
				}
			}
			return nil
		})
	}
}

// payoutColumns are the columns of a row of payout, and benchPayout has its values.
var payoutColumns = []string{
	"campaign_id", "packet", "claim", "user_id", "amount", "state", "drop_id", "shard", "won_at", "entry_seq",
	"settled_at", "txn_id",
}

func benchPayout(n int, txn int64, user func(int) string) []any {
	return []any{"c1", n, rain.ClaimID("c1", n), user(n), 88, "settled", paytest.DropOf(n), 0, 1, 0, benchNow, txn}
}

func newBare(b *testing.B, user func(int) string) *contender {
	b.Helper()
	db, server := benchTables(b)
	many := func(table string, columns []string) string {
		return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " +
			strings.TrimSuffix(strings.Repeat(sqldb.Marks(len(columns))+",", benchBatch), ",")
	}
	lines := many("entry", []string{"txn_id", "line_no", "account_id", "amount"})
	payouts := many("payout", payoutColumns)
	c := &contender{name: "bare", round: benchKnown, settle: inParallel(benchBatch, new(atomic.Int64),
		func(first int) error {
			lineArgs, payoutArgs := make([]any, 0, 4*benchBatch), make([]any, 0, len(payoutColumns)*benchBatch)
			id := int64(1000 + first/benchBatch)
			for i := range benchBatch {
				lineArgs = append(lineArgs, id, i, "user:"+user(first+i), 88)
				payoutArgs = append(payoutArgs, benchPayout(first+i, id, user)...)
			}
			return inSQLTx(db, func(tx *sql.Tx) error {
				if _, err := tx.Exec(lines, lineArgs...); err != nil {
					return err
				}
				_, err := tx.Exec(payouts, payoutArgs...)
				return err
			})
		})}
	c.takesPart("redrain", self)
	c.takesPart("mariadbd", server)
	return c
}
