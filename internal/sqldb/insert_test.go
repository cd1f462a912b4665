package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

var balance = sqldb.Into{
	Table: "balance", Columns: []string{"account_id", "amount"},
	Merge: sqldb.Merge{Key: []string{"account_id"}, Add: []string{"amount"}},
}

// add adds 1 to accounts and returns their new amounts.
func add(t *testing.T, db *sqldb.DB, ids []string) map[string]int64 {
	t.Helper()
	var got map[string]int64
	err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		got = map[string]int64{}
		return tx.InsertReading(ctx, balance, len(ids), func(i int, r *sqldb.Row) {
			r.Text(ids[i])
			r.Int(1)
		}, sqldb.Back{Key: "account_id", Columns: balance.Columns, Row: func(scan sqldb.Scan) error {
			var id string
			var amount int64
			err := scan(&id, &amount)
			got[id] += amount
			return err
		}})
	})
	testenv.Must(t, err)
	return got
}

// TestInsertReading reads the result of a merge for existing rows and for new ones, on every kind of server.
func TestInsertReading(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		for i, n := range []int{0, 1, sqldb.Chunk - 1, 2*sqldb.Chunk + 1} { // each time some are new
			var ids []string
			want := map[string]int64{}
			for k := range n {
				id := fmt.Sprintf("user:%d'\\%%\"\u2028é", k)
				ids = append(ids, id)
				want[id] = max(0, amountOf(t, db, id)) + 1
			}
			if got := add(t, db, ids); !maps.Equal(got, want) {
				t.Errorf("round %d: read back %d rows, want %d: %v", i, len(got), n, got)
			}
		}
	})
}

// TestInsertReadingOnMySQL plays a server without INSERT … RETURNING.
func TestInsertReadingOnMySQL(t *testing.T) {
	db := testenv.Got(sqldb.OpenMySQL(testenv.MySQL(t))).Must(t)
	t.Cleanup(func() { _ = db.Close() })
	testenv.Must(t, db.Migrate(t.Context()))
	testenv.Must(t, db.Ping(t.Context()))                      // makes the connection that reads
	testenv.Must(t, testenv.Err(db.Exec(t.Context(), "DO 0"))) // and the one that writes
	if !db.Returning() {
		t.Error("the tests' MariaDB is not asked to return rows")
	}
	for _, want := range []int64{1, 2} {
		var ids []string
		for k := range 2*sqldb.Chunk + 1 {
			ids = append(ids, fmt.Sprint("user:", k))
		}
		db.WithoutReturning() // from here on: the connections are there
		got := add(t, db, ids)
		if len(got) != len(ids) || got["user:0"] != want || got["user:2000"] != want {
			t.Errorf("%d rows; %d and %d, want %d", len(got), got["user:0"], got["user:2000"], want)
		}
		if db.Returning() {
			t.Error("another connection was made: this has tested nothing")
		}
	}
}

func TestWhichServersReturn(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"10.11.6-MariaDB-0+deb12u1": true, "10.5.0-MariaDB": true, "11.4.2-MariaDB-log": true,
		"10.4.33-MariaDB": false, "8.0.36": false, "8.4.0-commercial": false, "": false, "MariaDB": false,
	} {
		testenv.Equal(t, sqldb.HasReturning(version), want, "%q", version)
	}
}

// TestInsertKeepsEveryValue writes difficult values and reads them again. The longest text is as long as a list of a
// million amounts. In hexadecimal it would be larger than MariaDB's default packet.
func TestInsertKeepsEveryValue(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		texts := []string{"", "'", `\`, `\'`, "\x00\x1a\n\r", "?", "x'00'", "-- ", "é\u2028😀",
			strings.Repeat("ß", 40_000), "'\\?" + strings.Repeat("12345678,", 1_000_000)}
		blob := []byte{0, 1, 0xff, '\'', '\\'}
		err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			var rows [][]any
			for i, text := range texts {
				rows = append(rows, []any{fmt.Sprint(i), text})
			}
			if err := tx.Insert(ctx, "campaign_amounts", []string{"campaign_id", "amounts"}, rows,
				sqldb.Merge{}); err != nil {
				return err
			}
			return tx.Insert(ctx, "idempotency", []string{"idem_key", "body_hash", "status", "answer", "expires_at"},
				[][]any{{"k", "h", 200, blob, int64(math.MinInt64)}, {"n", "h", true, []byte{}, int64(math.MaxInt64)}},
				sqldb.Merge{})
		})
		testenv.Must(t, err)
		for i, want := range texts {
			var got string
			if _, err := db.First(t.Context(), []any{&got},
				"SELECT amounts FROM campaign_amounts WHERE campaign_id = ?", fmt.Sprint(i)); err != nil ||
				got != want {
				t.Errorf("%.20q came back as %.20q, %v", want, got, err)
			}
		}
		for key, want := range map[string]struct {
			status int
			answer string
			at     int64
		}{"k": {200, string(blob), math.MinInt64}, "n": {1, "", math.MaxInt64}} {
			got := want
			got.answer = "?"
			if _, err := db.First(t.Context(), []any{&got.status, &got.answer, &got.at},
				"SELECT status, answer, expires_at FROM idempotency WHERE idem_key = ?", key); err != nil ||
				got != want {
				t.Errorf("%+v came back as %+v, %v", want, got, err)
			}
		}
	})
}

func TestInsertRefusesWhatItCannotWrite(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		testenv.WantFail(t, put(t.Context(), db, sqldb.Merge{}, []any{"a", 1.5}), "a fraction was written")
		if err := put(t.Context(), db, sqldb.Merge{}, []any{"a"}); err == nil ||
			!strings.Contains(err.Error(), "columns") {
			t.Errorf("a row that is too short: %v", err)
		}
		testenv.Equal(t, amountOf(t, db, "a"), none, "a row of it is there")
		err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.InsertReading(ctx, balance, 1, func(_ int, r *sqldb.Row) { r.Text("a"); r.Int(1) },
				sqldb.Back{Key: "nothing", Columns: balance.Columns, Row: func(sqldb.Scan) error { return nil }})
		})
		if err == nil {
			t.Error("rows are read back by a column that they do not have")
		}
		boom := errors.New("boom")
		err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.InsertReading(ctx, balance, 2, func(i int, r *sqldb.Row) { r.Text(fmt.Sprint(i)); r.Int(1) },
				sqldb.Back{Key: "account_id", Columns: balance.Columns, Row: func(sqldb.Scan) error { return boom }})
		})
		testenv.WantErr(t, err, boom, "the reader's error")
	})
}

// TestLargerStays: columns that together are one number rise and never fall, whatever comes in which order.
func TestLargerStays(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		columns := []string{"campaign_id", "shard", "entry_ms", "entry_seq"}
		put := func(rows ...[2]int64) {
			t.Helper()
			err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				var values [][]any
				for _, row := range rows {
					values = append(values, []any{"c1", 0, row[0], row[1]})
				}
				return tx.Insert(ctx, "shard_mark", columns, values, sqldb.Merge{Key: columns[:2], Larger: columns[2:]})
			})
			testenv.Must(t, err)
		}
		for i, step := range []struct {
			rows []([2]int64)
			want [2]int64
		}{
			{[][2]int64{{5, 5}}, [2]int64{5, 5}},
			{[][2]int64{{5, 4}}, [2]int64{5, 5}},
			{[][2]int64{{4, 9}}, [2]int64{5, 5}},
			{[][2]int64{{5, 12}}, [2]int64{5, 12}},
			{[][2]int64{{6, 0}}, [2]int64{6, 0}},
			{[][2]int64{{6, 0}}, [2]int64{6, 0}},
			{[][2]int64{{7, 3}, {8, 1}, {7, 9}}, [2]int64{8, 1}},
			{[][2]int64{{0, 0}, {-1, 5}}, [2]int64{8, 1}},
		} {
			put(step.rows...)
			var got [2]int64
			if _, err := db.First(t.Context(), []any{&got[0], &got[1]},
				"SELECT entry_ms, entry_seq FROM shard_mark WHERE campaign_id = 'c1'"); err != nil || got != step.want {
				t.Errorf("step %d: %v, %v, want %v", i, got, err, step.want)
			}
		}
	})
}

// TestReadingBackWhere: of a key that has several parts only the rows that were inserted are read, also by a server
// without INSERT … RETURNING.
func TestReadingBackWhere(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		into := sqldb.Into{Table: "winner", Columns: []string{"campaign_id", "user_id", "wins", "amount"},
			Merge: sqldb.Merge{Key: []string{"campaign_id", "user_id"}, Add: []string{"wins", "amount"}}}
		for try, campaign := range []string{"c1", "c2", "c1"} {
			if try == 2 && db.Dialect() == sqldb.MySQL {
				db.WithoutReturning()
			}
			got := map[string]int64{}
			err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				return tx.InsertReading(ctx, into, 3, func(i int, r *sqldb.Row) {
					r.Text(campaign)
					r.Text(fmt.Sprint("u", i))
					r.Int(1)
					r.Int(int64(10 * (i + 1)))
				}, sqldb.Back{Key: "user_id", Where: "campaign_id = ?", Args: []any{campaign},
					Columns: []string{"user_id", "amount"},
					Row: func(scan sqldb.Scan) error {
						var user string
						var amount int64
						err := scan(&user, &amount)
						got[user] += amount
						return err
					}})
			})
			times := int64(1 + try/2)
			if err != nil || len(got) != 3 || got["u0"] != 10*times || got["u2"] != 30*times {
				t.Errorf("try %d: %v, %v", try, got, err)
			}
		}
	})
}
