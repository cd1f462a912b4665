package posting_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestManyWorkersPostTheSame is redelivery at its worst: eight workers, the same entries in other batches and in
// another order.
func TestManyWorkersPostTheSame(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const campaigns, entries, wins, users = 3, 40, 5, 25
		var all []rain.Entry
		paid := map[string]rain.Money{}
		for c := range campaigns {
			id := fmt.Sprintf("c%d", c)
			b.OpenCampaign(t, id, rain.Spec{Budget: 7000, Packets: 1000})
			for e := range entries {
				var list []rain.Win
				for w := range wins {
					user := fmt.Sprintf("u%d", (e*7+w*3+c)%users)
					list = append(list, paytest.Win(user, e*wins+w, 7))
					paid[user] += 7
				}
				all = append(all, paytest.Entry(id, e+1, list...))
			}
		}
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 1))
				mine := paytest.Copies(all)
				r.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
				for batch := range slices.Chunk(mine, 1+r.IntN(20)) {
					posted, err := b.Post(t.Context(), batch)
					if err != nil {
						t.Error(err)
						return
					}
					if len(posted.Settled) != len(batch)*wins || len(posted.Dead) > 0 {
						t.Errorf("%d of %d settled, %d dead", len(posted.Settled), len(batch)*wins, len(posted.Dead))
					}
				}
			})
		}
		wg.Wait()
		for user, want := range paid {
			b.WantBalance(t, booking.UserAccount(user), want)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM payout"); n != campaigns*entries*wins {
			t.Errorf("%d payouts", n)
		}
		b.CheckBooks(t)
	})
}

// TestPlayersAppearEverywhereAtOnce: eight campaigns pay the same new players at the same moment. Each posting
// tells a player another balance, and all of them together are the whole way from nothing to the last one.
func TestPlayersAppearEverywhereAtOnce(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const campaigns, rounds, users = 8, 6, 12
		for c := range campaigns {
			b.OpenCampaign(t, fmt.Sprintf("c%d", c), rain.Spec{Budget: 5 * rounds * users, Packets: rounds * users})
		}
		for round := range rounds {
			var mu sync.Mutex
			told := map[string][]int{}
			start := make(chan struct{})
			var wg sync.WaitGroup
			for c := range campaigns {
				var wins []rain.Win
				for u := range users {
					wins = append(wins, paytest.Win(fmt.Sprintf("%d-%d", round, (u+c)%users), round*users+u, 5))
				}
				wg.Go(func() {
					<-start
					posted, err := b.Post(t.Context(),
						[]rain.Entry{paytest.Entry(fmt.Sprintf("c%d", c), round+1, wins...)})
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					for _, s := range posted.Settled {
						told[s.User] = append(told[s.User], int(s.Balance))
					}
				})
			}
			close(start)
			wg.Wait()
			for user, balances := range told {
				slices.Sort(balances)
				if !slices.Equal(balances, []int{5, 10, 15, 20, 25, 30, 35, 40}) {
					t.Errorf("%s was told %v", user, balances)
				}
			}
		}
		b.CheckBooks(t)
	})
}
