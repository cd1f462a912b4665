package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestPagesAreStable: who reads a list page by page while it grows gets everything that was there at the beginning,
// and nothing twice.
func TestPagesAreStable(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const packets, first = 2_000, 600
		b.OpenCampaign(t, "c1", rain.Spec{Budget: packets, Packets: packets})
		order := rand.New(rand.NewPCG(1, 2)).Perm(packets)
		post := func(from, to int) {
			var wins []rain.Win
			for _, packet := range order[from:to] {
				wins = append(wins, paytest.Win("u", packet, 1))
			}
			b.MustPost(t, paytest.Entry("c1", 1+from, wins...))
		}
		there := map[string]bool{}
		for at := 0; at < first; at += 20 {
			post(at, at+20)
		}
		for _, packet := range order[:first] {
			there[rain.ClaimID("c1", packet)] = true
		}
		var settling sync.WaitGroup
		settling.Go(func() {
			for at := first; at < packets; at += 20 {
				post(at, at+20)
			}
		})
		for _, q := range []ledger.ClaimQuery{{Campaign: "c1", Limit: 7}, {User: "u", Limit: 7},
			{User: "u", Campaign: "c1", Limit: 50}} {
			seen := map[string]int{}
			for {
				list, next, err := b.ListClaims(t.Context(), q)
				paytest.Must(t, err)
				for _, c := range list {
					seen[c.Claim]++
				}
				if next == "" {
					break
				}
				q.After = next
			}
			for claim := range there {
				if seen[claim] != 1 {
					t.Errorf("%+v: %s is listed %d times", q, claim, seen[claim])
				}
			}
			for claim, n := range seen {
				if n > 1 {
					t.Errorf("%+v: %s is listed %d times", q, claim, n)
				}
			}
		}
		settling.Wait()
		if got := len(pages(t, b, ledger.ClaimQuery{Campaign: "c1", Limit: 500})); got != packets/500 {
			t.Errorf("%s", fmt.Sprint(got))
		}
	})
}
