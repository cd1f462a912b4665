package grabtest

import (
	"strconv"
	"sync"
	"testing"

	"redrain/grab/outcome"
)

// Storm has so many players tap at the same time, each waiting for the result before the next tap. All of them win.
func Storm(b *testing.B, gm *Game, players int) {
	b.Helper()
	drop := gm.Drop(0)
	users := make([]string, b.N)
	for i := range users {
		users[i] = "user-" + strconv.Itoa(i)
	}
	each := b.N / players
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for p := range players {
		from, to := p*each, (p+1)*each
		if p == players-1 {
			to = b.N
		}
		all.Go(func() {
			got := make(chan outcome.Result, 1)
			done := func(r outcome.Result) { got <- r }
			for _, user := range users[from:to] {
				Ask(gm.Gate, user, drop, done)
				if r := <-got; r.Outcome != outcome.Won {
					b.Errorf("%v", r)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "taps/s")
}
