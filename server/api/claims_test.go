package api

import (
	"context"
	"testing"
	"time"

	"redrain/grab"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestGrantedOnly: a settled win is not listed as granted, even if its entry is still in the outbox. The filters by
// user and packet apply to granted wins, too.
func TestGrantedOnly(t *testing.T) {
	own, err := embedded.Redis()
	testenv.Must(t, err)
	defer own.Close()
	rdb, err := store.Connect(t.Context(), own.Addr())
	testenv.Must(t, err)
	defer func() { _ = rdb.Close() }()
	db, err := sqldb.OpenSQLite("")
	testenv.Must(t, err)
	defer func() { _ = db.Close() }()
	testenv.Must(t, db.Migrate(t.Context()))
	now := func() int64 { return time.Now().UnixMilli() }
	grabber := grabtest.NewNode(
		rdb,
		grabtest.Options{Namespace: testenv.Namespace(t), Options: grab.Options{Clock: now}},
	)
	defer grabber.Close()
	c := servertest.RainingCampaign(t, grabber, now(), 10)
	win := func(user string) outcome.Result {
		return grabtest.TapOn(grabber.Gate(c), user, "0.0")
	}
	ours, theirs := win("u"), win("v")
	if ours.Outcome != outcome.Won || theirs.Outcome != outcome.Won {
		t.Fatal(ours, theirs)
	}
	books := ledger.New(db, now, rain.NewAmountsCache())
	a := newAPI(Options{Wins: grabber, Outbox: grabber, Claims: books.Claims, Failing: books.Poster})
	count := func(only ledger.ClaimFilter, want int) {
		t.Helper()
		got, err := a.grantedOnly(t.Context(), c, only)
		if err != nil || len(got) != want {
			t.Errorf("%+v: %+v, %v; want %d", only, got, err, want)
		}
	}
	count(ledger.ClaimFilter{}, 2)
	count(ledger.ClaimFilter{State: ledger.StateGranted}, 2)
	count(ledger.ClaimFilter{State: ledger.StateSettled}, 0)
	count(ledger.ClaimFilter{User: "u"}, 1)
	count(ledger.ClaimFilter{Packet: &theirs.Packet, State: ledger.StateGranted}, 1)
	err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(
			ctx,
			"INSERT INTO payout (campaign_id, packet, claim, user_id, amount, state, drop_id, shard, won_at, "+
				"entry_seq, settled_at, txn_id) "+
				"VALUES (?, ?, ?, 'u', 1, 'settled', '0.0', 0, 0, 0, 0, 1)",
			c.ID,
			ours.Packet,
			rain.ClaimID(c.ID, ours.Packet),
		)
		return err
	})
	testenv.Must(t, err)
	count(ledger.ClaimFilter{State: ledger.StateGranted}, 1)
	count(ledger.ClaimFilter{State: ledger.StateGranted, User: "u"}, 0)
}
