package e2e

import (
	"testing"
	"time"

	"redrain/internal/browser"
	"redrain/internal/browser/browsertest"
	"redrain/internal/operator"
	"redrain/internal/testenv"
	"redrain/rain"
)

// watchBanner notes when the banner comes, on the clock that the page has in common with this test.
const watchBanner = `addEventListener("DOMContentLoaded", () => {
	const banner = document.getElementById("banner");
	new MutationObserver(() => {
		if (!banner.hidden) globalThis.bannerAt ??= performance.timeOrigin + performance.now();
	}).observe(banner, { attributes: true });
});`

// TestCableIsCut: the line breaks in the middle of a rain, while a tap is decided whose answer is lost. The page
// says so within a second, comes back by itself, is what it was before, and the tap has won once: in the ledger,
// and on the page.
func TestCableIsCut(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	rain := slowRain()
	soon := int64(300)
	// what was tapped has not landed when the line is back
	rain.StartsInMS, rain.DecoyPercent, rain.FallMS = &soon, 0, 20_000
	c := rainsOn(t, n, "cut", 100, 50, rain)
	line := lay(t, n)
	g := openPlay(t, c.ID, "cut off", browser.Options{Home: line.url, Device: browser.LargePhone,
		Scripts: []string{watchTaps, watchBanner}}, browser.Network)
	g.Mode("falling")
	for range 3 {
		g.Catch(g.have() + 1)
		g.loseAnswers(t, n, c.ID, line)
	}
	g.settled(t, n, c.ID)
	g.State("after the cuts")
	awaitBooks(t, n.client, c.ID)
}

// loseAnswers taps while nothing comes back from the node, cuts the line, and mends it. Each tap wins once, whether
// the node has heard it before the cut, after it, or both.
func (g *playPage) loseAnswers(t *testing.T, n *node, campaign string, line *cable) {
	t.Helper()
	testenv.Eventually(t, browser.Patience, "every answer has come", func() bool { return g.have() == g.tapped() })
	known := g.have()
	line.silence()
	testenv.Eventually(t, browser.Patience, "a win that the page is not told of", func() bool {
		if g.tapped() < known+2 {
			g.Hit()
		}
		return g.tapped() > known && len(claimsOf(t, n, campaign)) > known
	})
	if got := g.have(); got != known {
		t.Errorf("the page says %d packets before it can know of more than %d", got, known)
	}
	silent := browsertest.Eval[bool](g.Page, `document.getElementById("banner").hidden`)
	browsertest.Eval[bool](g.Page, "delete globalThis.bannerAt, true")
	cut := time.Now()
	line.sever()
	g.Until("the banner", `!document.getElementById("banner").hidden`)
	if silent { // else the page has found out by the silence
		after := browsertest.Eval[float64](g.Page, "globalThis.bannerAt") - float64(cut.UnixMicro())/1000
		t.Logf("the banner came %.0f ms after the cut", after)
		if after > 1000 {
			t.Errorf("the banner came %.0f ms after the cut", after)
		}
	}
	g.Shoot("reconnecting")
	line.mend()
	g.Until("the banner goes", `document.getElementById("banner").hidden`)
	g.Mode("falling")
	testenv.Eventually(t, browser.Patience, "the lost answers", func() bool { return g.have() == g.tapped() })
	g.Until("packets in the air", `redrain.drops(redrain.serverNow()).length > 3`)
}

func claimsOf(t *testing.T, n *node, campaign string) []operator.Claim {
	t.Helper()
	list, err := n.client.Claims(within(t, 10*time.Second), campaign, operator.Page{Limit: 500})
	must(t, err)
	return list.Items
}

// settled waits until all that was won is paid, and holds the page against the ledger.
func (g *playPage) settled(t *testing.T, n *node, campaign string) {
	t.Helper()
	claims := claimsOf(t, n, campaign)
	var sum rain.Money
	seen := map[string]bool{}
	for _, claim := range claims {
		if seen[claim.Claim] || seen[claim.Packet] {
			t.Errorf("claim %s or its packet %s twice", claim.Claim, claim.Packet)
		}
		seen[claim.Claim], seen[claim.Packet] = true, true
		sum += claim.Amount
	}
	if taps := g.tapped(); len(claims) != taps {
		t.Errorf("%d packets were tapped, and the ledger has %d claims", taps, len(claims))
	}
	if got := g.have(); got != len(claims) {
		t.Errorf("the page says %d packets, the ledger %d", got, len(claims))
	}
	testenv.Eventually(t, browser.Patience, "the page's balance is the ledger's",
		func() bool { return g.balance() == sum })
}
