package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/client"
	"redrain/internal/testenv"
)

// These functions find the stage of a win past redrain's own interfaces: in Redis, in the stream, in the database. They
// ask living servers only.

// waiting counts the entries in the campaign's outboxes.
func (a *arena) waiting(t *testing.T, c client.Campaign) (total int64) {
	t.Helper()
	for shard := range c.Shards {
		n := testenv.Got(a.rdb.XLen(within(t, 10*time.Second), a.s.key(c.ID, shard, "outbox")).Result()).Must(t)
		total += n
	}
	return total
}

// published is the number of messages that the stream has taken in its life.
func (a *arena) published(t *testing.T) uint64 {
	t.Helper()
	nc := testenv.Got(nats.Connect(a.nats.URL, nats.NoReconnect())).Must(t)
	defer nc.Close()
	js := testenv.Got(jetstream.New(nc)).Must(t)
	stream := testenv.Got(js.Stream(within(t, 10*time.Second), strings.ToUpper(a.s.namespace)+"_PAYOUT")).Must(t)
	return stream.CachedInfo().State.LastSeq
}

// count asks the database for a number.
func (a *arena) count(t *testing.T, query string, args ...any) (n int64) {
	t.Helper()
	var found sql.NullInt64 // a sum of nothing
	testenv.Must(t, a.db.QueryRowContext(within(t, 20*time.Second), query, args...).Scan(&found))
	return found.Int64
}

// paid is the number of the campaign's packets in the ledger.
func (a *arena) paid(t *testing.T, campaign string) int64 {
	t.Helper()
	return a.count(t, "SELECT COUNT(*) FROM payout WHERE campaign_id = ?", campaign)
}

// hold locks an account's balance, so that every transaction that moves money of it stops in its middle. release
// lets them go on; it does nothing where the database was killed meanwhile. It can be called again.
func (a *arena) hold(t *testing.T, account string) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	release = func() {
		_ = tx.Rollback()
		cancel()
	}
	t.Cleanup(release)
	var amount int64
	testenv.Must(t, tx.QueryRowContext(ctx, "SELECT amount FROM balance WHERE account_id = ? FOR UPDATE",
		account).Scan(&amount))
	return release
}

// awaitHeld waits until a transaction with a part of its work done waits for that balance, and so many in all wait for
// balances. A transaction that holds other locks makes its successors wait as well.
func (a *arena) awaitHeld(t *testing.T, account string, least int64) {
	t.Helper()
	const waiting = "SELECT COUNT(DISTINCT requesting_trx_id) FROM information_schema.innodb_lock_waits w " +
		"JOIN information_schema.innodb_locks l ON l.lock_id = w.requested_lock_id " +
		"WHERE l.lock_table LIKE '%`balance`' "
	const forAccount = waiting + "AND l.lock_data = CONCAT('0x', HEX(?))"
	var asked time.Time
	testenv.Eventually(t, 30*time.Second, fmt.Sprintf("%d postings are stopped in mid-transaction", least),
		func() bool {
			// these tables stay as they are for who asks more than ten times a second
			if time.Since(asked) < 150*time.Millisecond {
				return false
			}
			defer func() { asked = time.Now() }()
			return a.count(t, waiting) >= least && a.count(t, forAccount, account) > 0
		})
}
