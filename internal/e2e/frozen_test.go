package e2e

import (
	"database/sql"
	"net/http"
	"syscall"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestAFrozenNodeStopsNobody stops a node (SIGSTOP) in the middle of a deposit, with the sponsor's balance, a stripe of
// world and the end of a chain in its hands. The other node takes deposits and withdrawals meanwhile. When the stopped
// one goes on, nothing of what it held is booked, and it serves.
func TestAFrozenNodeStopsNobody(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	s := realSetting(t)
	a, b := startProcess(t, s), startProcess(t, s)
	earn(t, b.node, "alice")
	api := newAPIClient(t, b.node)
	deposit := func(sponsor, reference string) answer {
		return api.call("POST", "/sponsors/"+sponsor+"/deposits", `{"amount":5,"reference":"`+reference+`"}`)
	}
	api.want(deposit("acme", "first"), http.StatusCreated, "")

	beside, release := holdBalance(t, s, "sponsor:acme")
	atA := make(chan struct{}) // closed when the node has taken this, asked again and again
	clientOfA := newAPIClient(t, a.node)
	go func() {
		defer close(atA)
		for status := 0; status != http.StatusCreated; {
			status = clientOfA.call("POST", "/sponsors/acme/deposits", `{"amount":5,"reference":"second"}`).status
		}
	}()
	awaitLockWait(t, beside)
	must(t, a.cmd.Process.Signal(syscall.SIGSTOP))

	// Somebody who is not redrain still has the sponsor's row, and does not give it back: the answer is busy.
	busy := deposit("acme", "third")
	api.want(busy, http.StatusServiceUnavailable, "busy")
	if busy.header.Get("Retry-After") == "" {
		t.Error("busy, and nothing says when to try again")
	}
	release() // now the row is the stopped node's, as far as the server has not ended its transaction

	api.want(deposit("other", "first"), http.StatusCreated, "")
	api.token = token(t, "alice")
	api.want(api.call("POST", "/me/withdrawals", `{"amount":300}`), http.StatusCreated, "")
	api.token = operatorToken
	awaitWithdrawal(t, b.node, "alice", inState("paid"))
	testenv.Eventually(t, time.Minute, "a deposit of the stopped node's sponsor", func() bool {
		got := deposit("acme", "third") // a slow machine may say busy once more
		return got.status == http.StatusCreated
	})
	wantBalance := func(c *apiClient, want string) {
		t.Helper()
		if got := c.call("GET", "/sponsors/acme", ""); got.field("balance") != want {
			t.Errorf("%s, want a balance of %s", got.body, want)
		}
	}
	wantBalance(api, "10")

	must(t, a.cmd.Process.Signal(syscall.SIGCONT))
	<-atA
	wantBalance(clientOfA, "15")
	books, err := b.client.ReconcileAll(within(t, time.Minute))
	must(t, err)
	if !books.Balanced {
		t.Errorf("the books: %+v", books)
	}
}

// holdBalance has a client that is not redrain lock an account's balance. release ends its transaction.
func holdBalance(t *testing.T, s setting, account string) (beside *sql.DB, release func()) {
	t.Helper()
	beside, err := sql.Open("mysql", s.mysql)
	must(t, err)
	t.Cleanup(func() { _ = beside.Close() })
	holder, err := beside.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = holder.ExecContext(t.Context(), "UPDATE balance SET amount = amount WHERE account_id = ?", account)
	must(t, err)
	return beside, func() { must(t, holder.Rollback()) }
}

// awaitLockWait waits until a transaction waits for a row.
func awaitLockWait(t *testing.T, db *sql.DB) {
	t.Helper()
	testenv.Eventually(t, time.Minute, "a transaction that waits for a row", func() bool {
		<-time.After(150 * time.Millisecond) // InnoDB shows an old picture to who looks more than once in 100 ms
		var n int
		must(t, db.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'").Scan(&n))

		return n > 0
	})
}
