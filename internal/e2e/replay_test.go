package e2e

import (
	"testing"
	"time"

	"redrain/internal/testenv"

	"redrain/internal/wire"
)

// TestAWonTapSentAgainGivesTheSameWin, on the same connection, on another of the same node, and on another node.
func TestAWonTapSentAgainGivesTheSameWin(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Light)
			cfg := b.make(t).config()
			nodes := startNodes(t, cfg, b.nodes)
			last := nodes[len(nodes)-1]
			spec := fund(t, nodes[0], "replay", 1_000, 1) // one packet: the first win sells the campaign out
			spec.WinsPerUser = 5
			c := createCampaign(t, nodes[0].client, spec)
			startRain(t, nodes[0].client, c.ID, longRain(16))
			first := join(t, nodes[0], "lucky", c.ID)
			early := join(t, last, "lucky", c.ID) // was there before the win
			drop := first.aDrop(t)
			won := first.answered(t, first.tap(drop))
			if won.Outcome != "won" || won.Amount != 1_000 || won.Claim == "" || won.Packet == "" {
				t.Fatalf("the first tap: %+v", won)
			}
			late := join(t, last, "lucky", c.ID) // knows it from the welcome
			if len(late.welcome.Claims) != 1 || late.welcome.Claims[0].Claim != won.Claim ||
				late.welcome.ClaimsTotal != 1 {
				t.Errorf("the welcome does not have the win: %+v", late.welcome)
			}
			// A node that was not asked hears of the win with its settlement.
			for _, p := range []*player{first, early} {
				p.await(t, 20*time.Second, "settlement", func() bool { return len(p.settled[won.Claim]) > 0 })
			}
			for name, p := range map[string]*player{"same connection": first, "earlier connection": early,
				"later connection": late} {
				again := p.answered(t, p.tap(drop))
				again.ID = won.ID
				if again != won {
					t.Errorf("%s: %+v, want %+v", name, again, won)
				}
			}
			other := join(t, last, "unlucky", c.ID)
			lost := other.answered(t, other.tap(drop))
			if lost.Outcome != "sold_out" || lost.Amount != 0 {
				t.Errorf("somebody else's tap: %+v", lost)
			}
			// What won nothing gets its first result again on the same node.
			if again := other.answered(t, other.tap(drop)); again.Outcome != lost.Outcome {
				t.Errorf("first %q, then %q", lost.Outcome, again.Outcome)
			}
			checkOnce(t, first, won)
		})
	}
}

// checkOnce: after all those repetitions the win was settled once.
func checkOnce(t *testing.T, p *player, won wire.Result) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := p.settled[won.Claim]; len(got) != 1 || got[0].Amount != won.Amount {
		t.Errorf("settled: %v", got)
	}
}
