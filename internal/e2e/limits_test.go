package e2e

import (
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/room"
)

// TestLimitsOverTwoNodes: the limits of a player's connections and taps are those of one node, however many there are.
func TestLimitsOverTwoNodes(t *testing.T) {
	testenv.Parallel(t, testenv.Heavy)
	cfg := realSetting(t).config()
	cfg.TapRate, cfg.PerUser = 5, 2
	a, b := startNode(t, cfg), startNode(t, cfg)
	spec := fund(t, a, "two", 10_000, 10_000)
	spec.WinsPerUser = 10_000
	c := createCampaign(t, a.client, spec)
	t.Run("connections", func(t *testing.T) { limitConnections(t, a, b, c.ID) })
	t.Run("taps", func(t *testing.T) { limitTaps(t, a, b, c.ID, cfg.TapRate) })
}

// limitConnections: one more than --connections-per-user ends the oldest, wherever it is, and no other.
func limitConnections(t *testing.T, a, b *node, campaign string) {
	t.Helper()
	other := join(t, a, "other", campaign)
	first := join(t, a, "u", campaign)
	after(t, b, campaign, first)
	second := join(t, b, "u", campaign)
	third := join(t, b, "u", campaign)
	wantClose(t, first, room.CodeTooManySeats)
	after(t, a, campaign, third)
	fourth := join(t, a, "u", campaign)
	wantClose(t, second, room.CodeTooManySeats)
	for i, p := range []*player{other, third, fourth} {
		testenv.Must(t, p.write(map[string]any{"type": "join", "id": 50, "campaign": campaign}))
		p.await(t, 20*time.Second, "an answer", func() bool { return p.welcome.ID == "50" || p.closed != nil })
		p.mu.Lock()
		if p.closed != nil {
			t.Errorf("connection %d of those that stay was ended: %v", i, p.closed)
		}
		p.mu.Unlock()
	}
}

// after waits until a node's clock is beyond a player's arrival on another. Nodes' clocks differ a little, and they
// decide which of two connections is older.
func after(t *testing.T, n *node, campaign string, p *player) {
	t.Helper()
	const differ = 250
	testenv.Eventually(t, time.Minute, "the other node's clock is later", func() bool {
		witness := join(t, n, "witness", campaign)
		defer witness.hangUp()
		return witness.welcome.ServerTime > p.welcome.ServerTime+differ
	})
}

// knowEachOther waits until each node knows that one of its players is on the other as well.
func knowEachOther(t *testing.T, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		testenv.Eventually(t, time.Minute, "the node knows of the other's connection", func() bool {
			return metric(t, n, "redrain_players_on_several_nodes") == 1
		})
	}
}

// limitTaps: a player with a socket on each of two nodes taps as fast as one with one socket.
func limitTaps(t *testing.T, a, b *node, campaign string, rate int) {
	t.Helper()
	both := []*player{join(t, a, "bot", campaign), join(t, b, "bot", campaign)}
	knowEachOther(t, a, b)
	startRain(t, a.client, campaign, longRain(200))
	const each = 80
	both[0].freshDrop(t)
	began, taken := time.Now(), 0
	var taps [2][]wire.ID
	for range each {
		for i, p := range both {
			taps[i] = append(taps[i], p.tap(p.freshDrop(t)))
		}
	}
	for i, p := range both {
		for _, id := range taps[i] {
			if p.answered(t, id).Outcome != "too_fast" {
				taken++
			}
		}
	}
	// A burst, what flows in the meantime, and a moment for the answers.
	took := time.Since(began)
	most := 2*rate + int(float64(rate)*took.Seconds()) + rate
	if taken > most || taken < rate {
		t.Errorf("%d taps were taken in %v over two nodes, at most %d are allowed", taken, took, most)
	}
	t.Logf("%d taps of %d were taken in %v; at most %d are allowed", taken, 2*each, took, most)
}
