package payout

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/rain"
)

// BenchmarkSettleVersusNaive lets three ways of settling one campaign take turns on one MariaDB, eight workers each, and
// tells their wins per second, the processor time of a win (this process and the database's together), and what they make
// of each other. Where others use the machine too, only the processor time can be compared.
//
//   - redrain: Ledger.Post with batches of 500 wins of as many players, in entries of 50;
//   - naive: a transaction for each win, with the same rows, from prepared statements, the hot escrow last;
//   - bare: what no ledger can beat: the payouts and the players' lines of 500 wins, inserted by two statements, and
//     nothing else: no balances, nothing read, nothing checked.
//
// Each has a database of its own, for their tables to grow alike. Known players have won before; of the new ones every
// win makes an account.
func BenchmarkSettleVersusNaive(b *testing.B) {
	for name, players := range map[string]int{"known players": benchKnown, "new players": rain.MaxPackets} {
		b.Run(name, func(b *testing.B) {
			user := func(n int) string { return fmt.Sprintf("player-%d", n*7919%players) }
			redrain, naive, bare := newRedrain(b, user), newNaive(b, user), newBare(b, user)
			all := []*contender{redrain, naive, bare} // in turns, round after round
			if players == benchKnown {
				for _, c := range all {
					c.run(b, players)
					c.took, c.cpu, c.done = 0, 0, 0
				}
			}
			b.ResetTimer()
			for b.Loop() {
				for _, c := range all {
					c.run(b, c.round)
				}
			}
			b.ReportMetric(0, "ns/op") // of all three together, which says nothing
			for _, c := range all {
				b.ReportMetric(c.rate(), c.name+"-wins/s")
				b.ReportMetric(c.cost(), c.name+"-cpu-µs/win")
			}
			b.ReportMetric(redrain.rate()/naive.rate(), "redrain/naive")
			b.ReportMetric(bare.rate()/redrain.rate(), "bare/redrain")
			b.ReportMetric(naive.cost()/redrain.cost(), "naive/redrain-cpu")
		})
	}
}

const (
	benchWorkers = 8
	benchBatch   = 500
	benchEntry   = 50
	benchKnown   = 80_000 // players who have won before
	benchNow     = 1_763_712_000_000
)

// contender is one way of settling wins.
type contender struct {
	name  string
	step  int                   // wins that post settles at once
	round int                   // wins between two of another's turns: about two seconds
	post  func(first int) error // settles wins first to first+step-1

	server string // the directory of the database's process in /proc
	next   atomic.Int64
	done   int
	took   time.Duration
	cpu    time.Duration
}

// run settles the next wins with eight workers.
func (c *contender) run(b *testing.B, wins int) {
	b.Helper()
	end := c.next.Load() + int64(wins)
	var wg sync.WaitGroup
	start, used := time.Now(), c.processorTime(b)
	for range benchWorkers {
		wg.Go(func() {
			for {
				last := c.next.Add(int64(c.step))
				if last > end {
					return
				}
				if err := c.post(int(last) - c.step); err != nil {
					b.Errorf("%s: %v", c.name, err)
					return
				}
			}
		})
	}
	wg.Wait()
	c.took += time.Since(start)
	c.cpu += c.processorTime(b) - used
	c.done += wins
	c.next.Store(end)
	if b.Failed() {
		b.FailNow()
	}
}

func (c *contender) rate() float64 { return float64(c.done) / c.took.Seconds() }

func (c *contender) cost() float64 { return float64(c.cpu.Microseconds()) / float64(c.done) }

// processorTime is what this process and the database have used so far.
func (c *contender) processorTime(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, process := range []string{"/proc/self", c.server} {
		stat, err := os.ReadFile(process + "/stat")
		if err != nil {
			b.Skip("this benchmark reads /proc:", err)
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the third on: the name may have spaces
		for _, field := range fields[11:13] {                                     // utime, stime
			ticks, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			sum += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return sum
}

// serverOf finds a database's process.
func serverOf(b *testing.B, db *sqldb.DB) string {
	b.Helper()
	var file string
	if _, err := db.First(b.Context(), []any{&file}, "SELECT @@pid_file"); err != nil {
		b.Fatal(err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	return "/proc/" + strings.TrimSpace(string(pid))
}

func newRedrain(b *testing.B, user func(int) string) *contender {
	b.Helper()
	books := onMySQL(b)
	books.campaign(b, "c1", rain.Spec{Budget: rain.MaxBudget / 2, Packets: rain.MaxPackets, Split: rain.DoubleMean})
	return &contender{name: "redrain", server: serverOf(b, books.db), step: benchBatch, round: benchKnown, post: func(first int) error {
		var entries []rain.Entry
		for at := first; at < first+benchBatch; at += benchEntry {
			list := make([]rain.Win, benchEntry)
			for i := range list {
				list[i] = win(user(at+i), at+i, 88)
			}
			entries = append(entries, entry("c1", at+1, list...))
		}
		posted, err := books.Post(context.Background(), entries)
		if err == nil && posted.New != benchBatch {
			err = fmt.Errorf("%d of %d are new", posted.New, benchBatch)
		}
		return err
	}}
}

// benchTables is a database with redrain's tables and an escrow, through a driver as one would set it up.
func benchTables(b *testing.B) (db *sql.DB, server string) {
	b.Helper()
	dsn := testenv.MySQL(b)
	tables := newBooks(b, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	tables.campaign(b, "c1", rain.Spec{Budget: rain.MaxBudget / 2, Packets: rain.MaxPackets, Split: rain.DoubleMean})
	db, err := sql.Open("mysql", dsn+"?interpolateParams=true&tx_isolation=%27READ-COMMITTED%27")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxIdleConns(benchWorkers)
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db, serverOf(b, tables.db)
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

func newNaive(b *testing.B, user func(int) string) *contender {
	b.Helper()
	db, server := benchTables(b)
	prepare := func(query string) *sql.Stmt {
		s, err := db.Prepare(query)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	}
	txn := prepare("INSERT INTO txn (kind, idem_key, created_at) VALUES ('pay', ?, ?)")
	lines := prepare("INSERT INTO entry (txn_id, line_no, account_id, amount) VALUES (?, 0, 'escrow:c1', ?), (?, 1, ?, ?)")
	payout := prepare("INSERT INTO payout (" + strings.Join(payoutColumns, ", ") + ") VALUES " + sqldb.Marks(len(payoutColumns)))
	credit := prepare("INSERT INTO balance (account_id, amount) VALUES (?, ?) ON DUPLICATE KEY UPDATE amount = amount + VALUES(amount)")
	debit := prepare("UPDATE balance SET amount = amount - ? WHERE account_id = 'escrow:c1' AND amount >= ?")
	return &contender{name: "naive", server: server, step: 1, round: benchKnown / 10, post: func(n int) error {
		return inSQLTx(db, func(tx *sql.Tx) error {
			res, err := tx.Stmt(txn).Exec(fmt.Sprintf("pay:c1:%d", n), benchNow) //nolint:sqlclosecheck // the transaction closes it
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
	}}
}

// benchPayout has the values of payoutColumns.
func benchPayout(n int, txn int64, user func(int) string) []any {
	return []any{"c1", n, rain.ClaimID("c1", n), user(n), 88, "settled", "7.3", 0, 1, 0, benchNow, txn}
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
	return &contender{name: "bare", server: server, step: benchBatch, round: benchKnown, post: func(first int) error {
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
	}}
}
