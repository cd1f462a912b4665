package e2e

import (
	"testing"
	"time"

	"redrain/internal/wire"
)

// TestCampaignNews: players on every node hear what becomes of their campaign, also where no rain was ever scheduled.
func TestCampaignNews(t *testing.T) {
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			op := nodes[0].client
			c, err := op.CreateCampaign(within(t, 30*time.Second), fund(t, nodes[0], "news", 1_000, 10), "")
			if err != nil {
				t.Fatal(err)
			}
			players := make([]*player, len(nodes))
			for i, n := range nodes {
				players[i] = join(t, n, "listener-"+string(rune('a'+i)), c.ID)
				if is := players[i].welcome.Campaign; is.State != "ready" || is.Drained {
					t.Errorf("the welcome says %+v", is)
				}
			}
			hear := func(what string, is func(wire.Campaign) bool) {
				t.Helper()
				for _, p := range players {
					p.await(t, 20*time.Second, what, func() bool { return len(p.changes) > 0 && is(p.changes[len(p.changes)-1]) })
				}
			}
			if _, err := op.Pause(within(t, 10*time.Second), c.ID); err != nil {
				t.Fatal(err)
			}
			hear("pause", func(c wire.Campaign) bool { return c.State == "paused" })
			if _, err := op.Resume(within(t, 10*time.Second), c.ID); err != nil {
				t.Fatal(err)
			}
			hear("resumption", func(c wire.Campaign) bool { return c.State == "ready" })
			if _, err := op.CloseCampaign(within(t, 10*time.Second), c.ID); err != nil {
				t.Fatal(err)
			}
			hear("close", func(c wire.Campaign) bool { return c.State == "closed" })
			hear("that it is drained", func(c wire.Campaign) bool { return c.State == "closed" && c.Drained })
			for _, p := range players {
				if p.mu.Lock(); len(p.changes) > 6 {
					t.Errorf("%s was told %d times: %+v", p.user, len(p.changes), p.changes)
				}
				p.mu.Unlock()
			}
		})
	}
}
