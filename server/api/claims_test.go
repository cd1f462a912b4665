package api

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
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

// TestGrantedOnly: what the ledger has already is granted no more, though its entry is still in the outbox; and
// whose it is, and which packet, is asked of what is granted as well.
func TestGrantedOnly(t *testing.T) {
	own, err := embedded.Redis()
	testenv.Must(t, err)
	defer own.Close()
	rdb, err := store.Connect(own.Addr())
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

// rowCounter is an answer of which only the number of lines is kept, and the most memory that was in use meanwhile.
type rowCounter struct {
	header http.Header
	rows   int
	looked int
	heap   uint64
}

func (c *rowCounter) Header() http.Header { return c.header }
func (c *rowCounter) WriteHeader(int)     {}

func (c *rowCounter) Write(p []byte) (int, error) {
	c.rows += bytes.Count(p, []byte("\n"))
	if c.rows-c.looked >= 20_000 {
		c.looked = c.rows
		c.heap = max(c.heap, heapInUse())
	}
	return len(p), nil
}

// heapInUse is what is reachable.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what a sync.Pool keeps goes with the second
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestCSVTakesConstantMemory: however many claims there are, only a page of them is in memory.
func TestCSVTakesConstantMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100,000 claims")
	}
	const claims = 100_000
	db, err := sqldb.OpenSQLite("")
	testenv.Must(t, err)
	defer func() { _ = db.Close() }()
	testenv.Must(t, db.Migrate(t.Context()))
	// Straight into the table: how claims get there is tested elsewhere, and takes longer.
	const chunk = 10_000
	for from := 0; from < claims; from += chunk {
		err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(
				ctx,
				"INSERT INTO payout (campaign_id, packet, claim, user_id, amount, state, drop_id, shard, won_at, "+
					"entry_seq, settled_at, txn_id) "+
					"WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) "+
					"SELECT 'c1', i, 'c1-' || i, 'player number ' || i, 88, 'settled', '7.3', 0, 1763712000000 + i, "+
					"0, 1763712000000, 1 FROM n",
				from,
				from+chunk,
			)
			return err
		})
		testenv.Must(t, err)
	}
	a := newAPI(Options{Claims: ledger.New(db, func() int64 { return 0 }, rain.NewAmountsCache()).Claims,
		Log: slog.New(slog.DiscardHandler)})
	out := &rowCounter{header: http.Header{}}
	before := heapInUse()
	q := &request{Request: httptest.NewRequest(http.MethodGet, "/", nil), w: out}
	testenv.Must(t, a.claimsCSV(q, &rain.Campaign{ID: "c1"}, ledger.ClaimFilter{}, nil))
	if out.rows != claims+1 {
		t.Errorf("%d rows of %s", out.rows, strconv.Itoa(claims+1))
	}
	// All of them at once are 9 MB, a page is a tenth of one.
	if grown := int64(out.heap) - int64(before); grown > 4<<20 {
		t.Errorf("%d MB more in use", grown>>20)
	}
}
