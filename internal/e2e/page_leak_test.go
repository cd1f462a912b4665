package e2e

import (
	"testing"
	"time"

	"redrain/internal/testenv"

	"redrain/internal/testkit/browser"
	"redrain/rain"
)

// TestTenRains: what a rain has brought goes with it. A page that has seen ten holds no more than it did after
// three, when everything has been used once and pools have their size.
func TestTenRains(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	c := campaignOf(t, n, "ten-rains", 100, 2)
	g := openPlay(t, c.ID, "patient", browser.Options{Home: n.url, Device: browser.LargePhone})
	var third browser.Holdings
	for i := range 10 {
		g.sitThrough(t, n, c.ID, i == 0)
		if i == 2 {
			third = g.Holdings()
		}
	}
	tenth := g.Holdings()
	t.Logf("after three rains %+v, after ten %+v", third, tenth)
	// A few nodes may be in the air: the ticker's line, a live region's. A listener is always somebody's.
	if tenth.Nodes > third.Nodes+20 || tenth.Listeners > third.Listeners {
		t.Errorf("nodes and listeners have grown: %+v to %+v", third, tenth)
	}
	// Compiled code and the shapes of objects grow for a while without being anybody's leak; seven rains of drops,
	// effects and pictures would be megabytes.
	if grown := tenth.Heap - third.Heap; grown > 400_000 {
		t.Errorf("the heap has grown by %.0f bytes", grown)
	}
}

// sitThrough is one rain, with a few taps, to the card and past it. It is stopped when it has been seen.
func (g *playPage) sitThrough(t *testing.T, n *node, campaign string, first bool) {
	t.Helper()
	soon := int64(400)
	spec := rain.DefaultRain()
	spec.StartsInMS, spec.DurationMS, spec.FallMS = &soon, 600_000, 1_200
	spec.DropsPerSecond, spec.DecoyPercent = 30, 20
	r := startRain(t, n.client, campaign, spec)
	g.Mode("falling")
	for range 4 {
		g.Hit()
	}
	_, err := n.client.StopRain(within(t, 10*time.Second), campaign, r.ID)
	must(t, err)
	g.Until("the card", `document.getElementById("card").open`)
	if first {
		g.State("card")
	}
	g.Press("#card-ok")
	g.Mode("waiting")
	g.Until("nothing is in the air", `redrain.stats().drops === 0 && redrain.stats().particles === 0`)
}
