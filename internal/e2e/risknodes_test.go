package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"redrain/internal/operator"
	"redrain/internal/testenv"
	"redrain/server"
)

// spokenAgainst tells whether a rule has spoken against a player.
func spokenAgainst(t *testing.T, n *node, user, rule string) bool {
	t.Helper()
	u, err := n.client.Player(within(t, 10*time.Second), user)
	if err != nil {
		return false // nothing is known of them yet
	}
	return slices.ContainsFunc(u.Verdicts, func(v operator.RiskVerdict) bool {
		return slices.ContainsFunc(v.Reasons, func(r operator.RiskReason) bool { return r.Rule == rule })
	})
}

// TestRiskOverNodes: a player whose taps are spread over two nodes is judged by all of them, and so are accounts of one
// session of the issuer of which no node has as many as it takes; those who have nothing in common with anybody are not
// spoken against.
func TestRiskOverNodes(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Medium)
	const taps, accounts = 20, 4
	cfg := realSetting(t).config()
	cfg.Risk, cfg.TapRate = server.RiskHold, 1_000
	cfg.RiskLimits.FastMS, cfg.RiskLimits.Taps, cfg.RiskLimits.Sessions = 600_000, taps, accounts // all taps are fast
	nodes := startNodes(t, cfg, 2)
	n := nodes[0]
	spec := fund(t, n, "risk", 10_000, 100)
	c := createCampaign(t, n.client, spec)
	startRain(t, n.client, c.ID, longRain(20))

	bot := []*player{join(t, nodes[0], "bot", c.ID), join(t, nodes[1], "bot", c.ID)}
	knowEachOther(t, nodes...)
	for range taps/2 + 1 {
		for _, p := range bot {
			p.answered(t, p.tap(p.aDrop(t)))
		}
	}
	var last time.Time
	testenv.Eventually(t, time.Minute, "the bot is found by what it does on both nodes", func() bool {
		if time.Since(last) > time.Second { // what a slow Redis was not told of in its time waits for the next tap
			last = time.Now()
			bot[0].answered(t, bot[0].tap(bot[0].aDrop(t)))
		}
		return spokenAgainst(t, n, "bot", "fast_hands")
	})

	var farm []*player
	farmer := func(i int) string { return fmt.Sprintf("farmer-%d", i) }
	for i := range accounts {
		farm = append(farm, joinWith(t, nodes[i%2], farmer(i), tokenOf(t, farmer(i), "one"), c.ID))
	}
	alone := []*player{join(t, nodes[0], "alone", c.ID),
		joinWith(t, nodes[1], "lonely", tokenOf(t, "lonely", "another"), c.ID)}
	for _, p := range slices.Concat(farm, alone) {
		p.answered(t, p.tap(p.aDrop(t)))
	}
	for i, p := range farm {
		// Who has tapped is judged, by what is known of the others then: each node asks once in ten seconds at least.
		var last time.Time
		testenv.Eventually(t, time.Minute, farmer(i)+" is found", func() bool {
			if time.Since(last) > time.Second {
				last = time.Now()
				p.answered(t, p.tap(p.aDrop(t)))
			}
			return spokenAgainst(t, n, farmer(i), "one_session")
		})
	}
	for _, p := range alone {
		if spokenAgainst(t, n, p.user, "one_session") || spokenAgainst(t, n, p.user, "fast_hands") {
			t.Errorf("%s is spoken against", p.user)
		}
	}
}
