package posting_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"redrain/payout/paytest"
	"redrain/rain"
)

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
