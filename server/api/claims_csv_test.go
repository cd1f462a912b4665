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

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
)

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
	a := New(Options{Claims: ledger.New(db, func() int64 { return 0 }, rain.NewAmountsCache()).Claims,
		Log: slog.New(slog.DiscardHandler)})
	out := &rowCounter{header: http.Header{}}
	before := heapInUse()
	if err := a.claimsCSV(out, httptest.NewRequest(http.MethodGet, "/", nil), &rain.Campaign{ID: "c1"},
		ledger.ClaimFilter{}, nil); err != nil {
		t.Fatal(err)
	}
	if out.rows != claims+1 {
		t.Errorf("%d rows of %s", out.rows, strconv.Itoa(claims+1))
	}
	// All of them at once are 9 MB, a page is a tenth of one.
	if grown := int64(out.heap) - int64(before); grown > 4<<20 {
		t.Errorf("%d MB more in use", grown>>20)
	}
}
