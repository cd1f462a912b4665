package e2e

import (
	"context"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
)

// TestNews: players on every node are notified of changes of their campaign, also without a rain, and a player of the
// end of a withdrawal that another node was asked for.
func TestNews(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Light)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			op, last := nodes[0].client, nodes[len(nodes)-1]
			earn(t, nodes[0], "saver")
			c := createCampaign(t, op, fund(t, nodes[0], "news", 1_000, 10))
			saver := join(t, last, "saver", c.ID)
			players := []*player{saver}
			for i, n := range nodes {
				players = append(players, join(t, n, "listener-"+string(rune('a'+i)), c.ID))
			}
			_, err := asPlayer(t, nodes[0], "saver").Withdraw(within(t, 10*time.Second), 400, "k")
			must(t, err)
			saver.awaitMoney(t, "paid", 400, 600)
			hear := func(state string, drained bool) {
				t.Helper()
				for _, p := range players {
					p.await(t, 20*time.Second, state, func() bool {
						last := p.changes[max(0, len(p.changes)-1):]
						return len(last) == 1 && last[0].State == state && last[0].Drained == drained
					})
				}
			}
			for _, step := range []struct {
				act   func(context.Context, string) (client.Campaign, error)
				state string
			}{{op.Pause, "paused"}, {op.Resume, "ready"}, {op.CloseCampaign, "closed"}} {
				_, err := step.act(within(t, 10*time.Second), c.ID)
				must(t, err)
				hear(step.state, step.state == "closed") // a closed campaign without wins is drained soon
			}
			for _, p := range players {
				if p.mu.Lock(); len(p.changes) > 6 || p != saver && len(p.money) > 0 {
					t.Errorf("%s was notified of %+v, %+v", p.user, p.changes, p.money)
				}
				p.mu.Unlock()
			}
		})
	}
}
