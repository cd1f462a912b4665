package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestAHotCampaignIsWonWhole: six players on some of sixteen shards get every packet, wherever it lay, and nobody
// is told that all are gone before that is so.
func TestAHotCampaignIsWonWhole(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Medium)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			const packets, shards, crowd = 800, 16, 6
			spec := fund(t, nodes[0], "hot", 80_000, packets)
			spec.WinsPerUser, spec.Shards, spec.Split = packets, shards, rain.DoubleMean
			c := createCampaign(t, nodes[0].client, spec)
			dense := shortRain(500)
			dense.DurationMS, dense.FallMS, dense.DropsPerSecond = 600_000, 10_000, rain.MaxDropsPerSecond
			startRain(t, nodes[0].client, c.ID, dense)
			g := &game{t: t, campaign: c.ID, nodes: nodes, op: nodes[0].client, stop: func() {}}
			var tapping sync.WaitGroup
			for i := range crowd {
				p := join(t, nodes[i%len(nodes)], fmt.Sprintf("player-%d", i), c.ID)
				g.players = append(g.players, p)
				tapping.Go(func() { p.untilSoldOut(t) })
			}
			tapping.Wait()
			g.awaitAllNotified(packets)
			g.end()
		})
	}
}

// untilSoldOut taps one drop after the other, each when the one before is answered, until the player is told that every
// packet is won.
func (p *player) untilSoldOut(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(testenv.Patiently(time.Minute))
	for time.Now().Before(deadline) {
		switch r := p.answered(t, p.tap(p.freshDrop(t))); r.Outcome {
		case "sold_out":
			return
		case "won", "empty", "late", "unavailable":
		default:
			t.Errorf("%s: %+v", p.user, r)
			return
		}
	}
	t.Errorf("%s was never told that all is gone", p.user)
}
