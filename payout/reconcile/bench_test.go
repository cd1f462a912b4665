package reconcile_test

import (
	"fmt"
	"testing"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// BenchmarkReconcile reconciles a campaign of 100,000 payouts to 50,000 players, each time all of it.
func BenchmarkReconcile(b *testing.B) {
	for name, open := range paytest.Both {
		books := open(b)
		const packets, users, perEntry = 100_000, 50_000, 50
		f, _ := books.Stocked(b, "c1", rain.Spec{Budget: 100 * packets, Packets: packets, WinsPerUser: 2,
			Split: rain.DoubleMean})
		for first := 0; first < packets; first += 1000 {
			for i := range 1000 / perEntry {
				winners := make([]string, perEntry)
				for u := range winners {
					winners[u] = fmt.Sprintf("player-%d", (first+i*perEntry+u)%users)
				}
				f.Win("c1", 0, winners...)
			}
			books.SettleAll(b, f, 0)
		}
		for what, run := range map[string]func() (bool, error){
			"sums": func() (bool, error) {
				r, err := books.Proof.ReconcileCampaign(b.Context(), "c1", f, reconcile.Sums)
				return r.Balanced, err
			},
			"rows": func() (bool, error) {
				r, err := books.Proof.ReconcileCampaign(b.Context(), "c1", f, reconcile.Rows)
				return r.Balanced, err
			},
			"everything": func() (bool, error) {
				r, err := books.Proof.ReconcileFull(b.Context(), f, reconcile.FullOptions{})
				return r.Balanced, err
			},
		} {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if balanced, err := run(); err != nil || !balanced {
						b.Fatalf("balanced: %v, %v", balanced, err)
					}
				}
				b.ReportMetric(float64(packets)*float64(b.N)/b.Elapsed().Seconds(), "payouts/s")
			})
		}
	}
}
