package e2e

import (
	"testing"
	"time"

	"redrain/internal/testenv"

	"redrain/internal/wire"
)

// TestCampaignNews: players on every node hear what becomes of their campaign, also where no rain was ever scheduled.
func TestCampaignNews(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Light)
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
					p.await(t, 20*time.Second, what, func() bool {
						return len(p.changes) > 0 &&
							is(p.changes[len(p.changes)-1])
					})
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

// TestWithdrawalNews: a player hears how a withdrawal has ended on the node where they are, whichever node it was
// asked of.
func TestWithdrawalNews(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Light)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			first, last := nodes[0], nodes[len(nodes)-1]
			earn(t, first, "saver", "bystander")
			c, err := first.client.CreateCampaign(within(t, 30*time.Second), fund(t, first, "money", 100, 1), "")
			if err != nil {
				t.Fatal(err)
			}
			saver, bystander := join(t, last, "saver", c.ID), join(t, last, "bystander", c.ID)
			if _, err := asPlayer(t, first, "saver").Withdraw(within(t, 10*time.Second), 400, "k"); err != nil {
				t.Fatal(err)
			}
			saver.awaitMoney(t, "paid", 400, 600)
			bystander.mu.Lock()
			defer bystander.mu.Unlock()
			if len(bystander.money) > 0 {
				t.Errorf("somebody else was told: %+v", bystander.money)
			}
		})
	}
}
