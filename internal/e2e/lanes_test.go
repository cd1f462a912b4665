package e2e

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestGuestsAndPlayersInLanes: a quarter of twelve packets is the guests'. Three of five guests win, and the others are
// told that it is sold out, while nine of eleven players win on. All is paid, and the rest goes nowhere else.
func TestGuestsAndPlayersInLanes(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Medium)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			spec := fund(t, nodes[0], "lanes", 1_200, 12)
			spec.Shards, spec.GuestsShare, spec.Split = 4, 250_000, rain.Even
			c := createCampaign(t, nodes[0].client, spec)
			if c.GuestsShare != spec.GuestsShare || c.Shards != 4 {
				t.Fatalf("made: %+v", c)
			}
			long := shortRain(500)
			long.DurationMS, long.FallMS = 300_000, 5_000
			startRain(t, nodes[0].client, c.ID, long)
			layout := spec.Layout()
			// play has somebody tap until the tap has won or everything is won.
			play := func(n int, user string) string {
				p := join(t, nodes[n%len(nodes)], user, c.ID)
				defer p.hangUp()
				outcome := ""
				testenv.Eventually(t, time.Minute, user+" wins, or cannot", func() bool {
					r := p.answered(t, p.tap(p.aDrop(t)))
					outcome = r.Outcome
					if packet, err := strconv.Atoi(r.Packet); outcome == "won" && (err != nil ||
						!layout.MayHave(user, packet)) {
						t.Errorf("%s has won packet %s", user, r.Packet)
					}
					return outcome == "won" || outcome == "sold_out"
				})
				return outcome
			}
			crowd := func(of, win int, name func(int) string) {
				for n := range of {
					want := "won"
					if n >= win {
						want = "sold_out"
					}
					if got := play(n, name(n)); got != want {
						t.Errorf("%s, number %d: %s, want %s", name(n), n, got, want)
					}
				}
			}
			crowd(5, 3, func(n int) string { return fmt.Sprintf("%s%020x", rain.GuestPrefix, n) })
			stats, err := nodes[0].client.Stats(within(t, 10*time.Second), c.ID)
			if err != nil || stats.Stock != 9 || stats.StockGuests == nil || *stats.StockGuests != 0 {
				t.Errorf("the guests' part is won: %+v, %v", stats, err)
			}
			crowd(11, 9, func(n int) string { return fmt.Sprintf("player-%d", n) })
			testenv.Eventually(t, time.Minute, "all is paid", func() bool {
				stats, err := nodes[0].client.Stats(within(t, 10*time.Second), c.ID)
				return err == nil && stats.Paid == 12 && stats.Stock == 0
			})
			rec, err := nodes[0].client.Reconciliation(within(t, time.Minute), c.ID)
			if err != nil || !rec.Balanced || rec.Paid != rec.Funded || len(rec.Findings) > 0 {
				t.Errorf("the books: %+v, %v", rec, err)
			}
		})
	}
}
