package bench_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/internal/bench"
	"redrain/internal/testenv"
)

func TestAudit(t *testing.T) {
	// the first was reported twice
	told := []bench.Win{{Player: 0, Claim: "c-1", Amount: 5}, {Player: 1, Claim: "c-2", Amount: 7},
		{Player: 0, Claim: "c-1", Amount: 5}}
	good := []client.Claim{{Claim: "c-1", User: "p0", Amount: 5, State: client.ClaimSettled},
		{Claim: "c-2", User: "p1", Amount: 7, State: client.ClaimSettled}}
	sound := bench.Ledger{Told: 2, AmountTold: 12, Settled: 2}
	row := func(n int, change func(*client.Claim)) []client.Claim {
		rows := append([]client.Claim(nil), good...)
		change(&rows[n])
		return rows
	}
	for name, tc := range map[string]struct {
		told []bench.Win
		rows []client.Claim
		want func(*bench.Ledger)
		says string
	}{
		"sound": {told: told, rows: good},
		"missing": {told: told, rows: good[:1], want: func(f *bench.Ledger) { f.Settled, f.Missing = 1, 1 },
			says: "c-2"},
		"on its way": {
			told: told, rows: row(0, func(r *client.Claim) { r.State = client.ClaimGranted }),
			want: func(f *bench.Ledger) { f.Settled, f.Unsettled = 1, 1 },
		},
		"another amount": {
			told: told, rows: row(1, func(r *client.Claim) { r.Amount = 8 }),
			want: func(f *bench.Ledger) { f.Wrong = 1 }, says: "0.08",
		},
		"another player": {
			told: told, rows: row(1, func(r *client.Claim) { r.User = "p0" }),
			want: func(f *bench.Ledger) { f.Wrong = 1 }, says: "p0's",
		},
		"twice": {
			told: told, rows: append([]client.Claim{good[0], good[0]}, good...),
			want: func(f *bench.Ledger) { f.Twice = 1 }, says: "more than once",
		},
		"on its way and settled meanwhile": {
			told: told, rows: append([]client.Claim{{Claim: "c-1", User: "p0", Amount: 5}}, good...),
		},
		"not told": {
			told: told, rows: append([]client.Claim{
				{Claim: "c-9", User: "p2", Amount: 1, State: client.ClaimSettled},
				{Claim: "c-8", User: "somebody", Amount: 1, State: client.ClaimSettled},
				{Claim: "c-7", User: "p2", Amount: 1},
			}, good...),
			want: func(f *bench.Ledger) { f.Untold = 1 },
		},
		"told to two": {
			told: append([]bench.Win{{Player: 2, Claim: "c-1", Amount: 5}}, told[1:2]...), rows: good,
			want: func(f *bench.Ledger) { f.Wrong = 1 }, says: "was told to p2",
		},
		"told as two amounts": {
			told: append([]bench.Win{{Player: 0, Claim: "c-1", Amount: 6}}, told...),
			rows: row(0, func(r *client.Claim) { r.Amount = 6 }),
			want: func(f *bench.Ledger) { f.Wrong, f.AmountTold = 2, 13 }, says: "as 0.06 and as 0.05",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := bench.NewAudit(tc.told, 3, func(player int) string { return "p" + strconv.Itoa(player) })
			for _, r := range tc.rows {
				a.Row(r)
			}
			got, want := a.Ledger(), sound
			if tc.want != nil {
				tc.want(&want)
			}
			if said := strings.Join(got.Examples, "; "); !strings.Contains(said, tc.says) ||
				(tc.says == "" && said != "") {
				t.Errorf("says %q", said)
			}
			got.Examples = nil
			testenv.Equal(t, cmp.Diff(want, got), "", "difference")
		})
	}
}
