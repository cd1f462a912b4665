package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/internal/testenv/property"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// TestNoFalseFinding plays, settles, moves, loses and rebuilds at random, also between any two reads of a
// reconciliation. Only a lost shard is a finding.
func TestNoFalseFinding(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	run, proofs := 0, 0
	property.Check(t, 8, func(rt *rapid.T) {
		run++
		shards, guests := rapid.IntRange(1, 4).Draw(rt, "shards"), rain.Share(0)
		if shards > 1 && rapid.Bool().Draw(rt, "lanes") {
			guests = rain.Share(rapid.IntRange(50_000, 950_000).Draw(rt, "guests' share"))
		}
		w := newWorld(t, b, fmt.Sprintf("p%d", run), shards, guests)
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 12).Draw(rt, "steps") {
				w.act(rt)
			}
			losses := w.losses
			w.allowed = min(w.allowed, 1) // else no read of a shard matches the next one
			left := rapid.IntRange(0, 25).Draw(rt, "meanwhile")
			hot := restless{w.f, func() {
				if left > 0 {
					left--
					w.act(rt)
				}
			}}
			depth := rapid.SampledFrom([]reconcile.Depth{reconcile.Sums, reconcile.Rows}).Draw(rt, "depth")
			r := testenv.Got(b.Proof.ReconcileCampaign(t.Context(), w.c.ID, hot, depth)).Must(rt)
			proofs++
			quiet := losses == w.losses
			for _, lost := range w.lost {
				quiet = quiet && !lost
			}
			if !r.Balanced && quiet {
				rt.Fatalf("%d shards: %+v", w.c.Shards, r)
			}
			for _, f := range r.Findings {
				if !strings.Contains(f, "Redis has lost it") {
					rt.Fatalf("%d shards: %s", w.c.Shards, f)
				}
			}
			w.allowed = 2
		}
		w.end()
		if r, err := b.Proof.ReconcileCampaign(t.Context(), w.c.ID, w.f, reconcile.Rows); err != nil || !r.Balanced {
			rt.Fatalf("in the end: %+v, %v", r, err)
		}
	})
	t.Logf("%d reconciliations", proofs)
	b.CheckBooks(t)
}
