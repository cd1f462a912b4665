package history

import (
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

// second returns a row of one second with figures of its own.
func second(at, n int64) Row {
	return Row{Campaign: "c",
		At: at * 1_000, SpanMS: 1_000, Online: n, Grabs: 10 * n, P99: 100 * n, Taps: at, Won: at / 2,
		Stock: 10_000 - at}
}

// TestOldRowsBecomeFewer: old rows are merged into rows of wider spans. These have the highest value of a gauge and the
// last of a counter. Younger rows and other campaigns' rows stay. A read has the same result before and after.
func TestOldRowsBecomeFewer(t *testing.T) {
	t.Parallel()
	for name, dialect := range map[string]sqldb.Dialect{"sqlite": sqldb.SQLite, "mysql": sqldb.MySQL} {
		t.Run(name, func(t *testing.T) {
			table := NewTable(paytest.Fresh(t, dialect))
			ctx := t.Context()
			const seconds = 4_005                    // more than one step takes out
			for at := int64(3); at < seconds; at++ { // so that a step ends within a span
				rows := map[string]Row{"c": second(at, at%7)}
				if at >= 3_990 {
					rows["other"] = second(at, 1)
				}
				testenv.Must(t, table.Add(ctx, rows))
				if at == 5 {
					// another node was first
					testenv.Must(t, table.Add(ctx, map[string]Row{"c": second(at, 99)}))
				}
			}
			read := func(spanMS int64) []Row {
				t.Helper()
				rows, err := table.Read(ctx, "c", 0, 1e9, spanMS)
				testenv.Must(t, err)
				return rows
			}
			before := read(10_000)
			steps := 1
			for ; ; steps++ {
				more, err := table.Thin(ctx, 1_000, 10_000, 4_004_000)
				testenv.Must(t, err)
				if !more {
					break
				}
			}
			after := read(0)
			if len(before) != 401 || len(after) != 400+5 || steps < 3 {
				t.Fatalf("%d spans of ten seconds, %d rows after %d steps", len(before), len(after), steps)
			}
			for i, r := range after[:400] {
				want := Row{Campaign: "c",
					At: int64(i) * 10_000, SpanMS: 10_000, Online: 6, Grabs: 60, P99: 600,
					Taps: int64(i)*10 + 9, Won: (int64(i)*10 + 9) / 2, Stock: 10_000 - int64(i)*10 - 9}
				if r != want || before[i] != want {
					t.Fatalf("%+v, read before %+v, want %+v", r, before[i], want)
				}
			}
			testenv.Equal(t, after[400], second(4_000, 4_000%7), "a young row")
			others, err := table.Read(ctx, "other", 0, 1e9, 0)
			if err != nil || len(others) != 1+5 {
				t.Errorf("%d rows of the other campaign, %v", len(others), err)
			}
		})
	}
}
