package ledger_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// held are queries for the rows that one transaction locks in these tests: shared balances, a player's, and every
// stripe of world.
var held = []string{
	"SELECT account_id FROM balance WHERE account_id = '" + booking.SponsorAccount("acme").ID() + "'",
	"SELECT account_id FROM balance WHERE account_id = '" + booking.EscrowAccount("c1").ID() + "'",
	"SELECT account_id FROM balance WHERE account_id = '" + booking.UserAccount("u1").ID() + "'",
	"SELECT account_id FROM balance WHERE account_id LIKE 'world:%'",
}

// want is an operation of another node meanwhile.
type want struct {
	what string
	do   func() error
}

// contended need a locked row; free need none.
func contended(b *paytest.Books) []want {
	return []want{
		{"a deposit of the same sponsor", deposit(b, "acme")},
		{"a withdrawal of the same player", withdraw(b, "u1")},
		{"payouts of the same campaign", func() error {
			_, err := b.Post(b.T.Context(), []rain.Entry{paytest.Entry("c1", 1, paytest.Win("v", 1, 1))})
			return err
		}},
	}
}

func free(b *paytest.Books) []want {
	return []want{
		{"another sponsor's deposit", deposit(b, "other")},
		{"another player's withdrawal", withdraw(b, "u2")},
	}
}

func deposit(b *paytest.Books, sponsor string) func() error {
	return func() error {
		_, err := b.Deposit(b.T.Context(), sponsor, "again", 1)
		return err
	}
}

func withdraw(b *paytest.Books, user string) func() error {
	return func() error {
		_, _, err := b.Withdraw(b.T.Context(), "w "+user, user, 1)
		return err
	}
}

// waited is the result of a want, and its duration.
type waited struct {
	want
	took time.Duration
	err  error
}

// atOnce does everything at the same time, and returns what came of each.
func atOnce(wants []want) []waited {
	came := make([]waited, len(wants))
	paytest.Together(len(wants), func(i int) {
		began := time.Now()
		err := wants[i].do()
		came[i] = waited{wants[i], time.Since(began), err}
	})
	return came
}

// frozenBooks makes books whose transactions wait some seconds for a row. internal/sqldb tests the default wait, and
// the end of a silent transaction. No test here measures time: the database reports a failed wait.
func frozenBooks(t *testing.T, lockWait int) (b *paytest.Books, dsn string) {
	t.Helper()
	dsn = fmt.Sprint(testenv.MySQL(t), "?innodb_lock_wait_timeout=", lockWait)
	b = paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	b.T = t
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 100})
	b.Rich(t, "u1", 100)
	b.Rich(t, "u2", 100)
	return b, dsn
}

// TestATransactionThatNeverEndsIsBusy: the transaction of another client, which redrain cannot limit. An operation
// that needs a locked row fails as busy, and writes nothing. Stripes of world have replacements, so their lock fails
// no operation.
func TestATransactionThatNeverEndsIsBusy(t *testing.T) {
	t.Parallel()
	b, dsn := frozenBooks(t, 1)
	b.MustWithdraw(t, "leased", "u2", 1)
	leased := testenv.Got(b.LeaseDue(t.Context(), paytest.Bank, 1, time.Hour)).Must(t)
	payment := want{"a payment", func() error { return b.RecordPaid(t.Context(), leased[0], "x") }}
	beside := testenv.Got(sql.Open("mysql", dsn)).Must(t)
	defer func() { testenv.Must(t, beside.Close()) }()
	holder := testenv.Got(beside.BeginTx(t.Context(), nil)).Must(t)
	for _, query := range held {
		// Only the lock matters; the first row of the answer is enough.
		var first string
		if err := holder.QueryRowContext(t.Context(), query+" FOR UPDATE").Scan(&first); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	for _, w := range atOnce(contended(b)) {
		testenv.Equal(t, sqldb.IsBusy(w.err), true, "%s busy", w.what)
	}
	for _, w := range atOnce(append(free(b), payment)) {
		testenv.WantErr(t, w.err, nil, w.what)
	}
	testenv.Must(t, holder.Rollback())
	for _, w := range atOnce(contended(b)) { // a retry succeeds
		testenv.WantErr(t, w.err, nil, w.what, "afterwards")
	}
	const stripes = "SELECT COUNT(*) FROM balance WHERE account_id LIKE 'world:%'"
	rows := b.Count(t, stripes)
	for i := range 10 {
		testenv.Must(t, testenv.Err(b.Deposit(t.Context(), "acme", fmt.Sprint("more ", i), 1)))
	}
	if n := b.Count(t, stripes); n != rows || n < 2 {
		t.Errorf("world had %d rows, and has %d after deposits of which no two were at once", rows, n)
	}
	b.CheckBooks(t)
}
