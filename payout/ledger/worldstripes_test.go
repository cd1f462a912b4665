package ledger_test

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
)

// TestNobodyWaitsForWorld: a transaction that never ends holds every row of world that there is. Deposits and
// withdrawals, several at once, take rows of their own; the next ones use those again. Who waited would fail, because
// the rows are held until they are done.
func TestNobodyWaitsForWorld(t *testing.T) {
	t.Parallel()
	const users = 6
	dsn := testenv.MySQL(t) + "?innodb_lock_wait_timeout=60"
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	for i := range users {
		b.Rich(t, fmt.Sprintf("u%d", i), 10)
	}
	beside, err := sql.Open("mysql", dsn)
	paytest.Must(t, err)
	defer func() { paytest.Must(t, beside.Close()) }()
	frozen, err := beside.BeginTx(t.Context(), nil)
	paytest.Must(t, err)
	defer func() { paytest.Must(t, frozen.Rollback()) }()
	held, err := frozen.ExecContext(t.Context(),
		"UPDATE balance SET amount = amount - 1 WHERE account_id LIKE 'world:%'")
	paytest.Must(t, err)
	if n, err := held.RowsAffected(); n < 1 || err != nil {
		t.Fatalf("%d rows of world are held, %v", n, err)
	}
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() {
			if _, err := b.Deposit(t.Context(), fmt.Sprintf("s%d", i), "r", 100); err != nil {
				t.Error(err)
			}
			if _, _, err := b.Withdraw(t.Context(), fmt.Sprintf("w%d", i), fmt.Sprintf("u%d", i), 5); err != nil {
				t.Error(err)
			}
			sent, err := b.LeaseDue(t.Context(), paytest.Bank, 1, time.Minute)
			if err != nil || len(sent) != 1 {
				t.Errorf("sent %+v, %v", sent, err)
			}
			for _, w := range sent {
				if err := b.RecordPaid(t.Context(), w, "theirs"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.WantBalance(t, booking.World, -(users*10 + users*100 - users*5))
	rows := b.Count(t, "SELECT COUNT(*) FROM balance WHERE account_id LIKE 'world:%'")
	for i := range 10 {
		_, err := b.Deposit(t.Context(), "acme", fmt.Sprintf("more %d", i), 1)
		paytest.Must(t, err)
	}
	if n := b.Count(t, "SELECT COUNT(*) FROM balance WHERE account_id LIKE 'world:%'"); n != rows {
		t.Errorf("world had %d rows, and has %d after deposits of which no two were at once", rows, n)
	}
	b.CheckBooks(t)
}
