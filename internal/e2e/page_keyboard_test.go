package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"redrain/internal/browser"
	"redrain/internal/browser/browsertest"
	"redrain/internal/testenv"
	"redrain/rain"
)

// watchPointers counts what no keyboard makes.
const watchPointers = `globalThis.pointers = 0;
	for (const type of ["pointerdown", "mousedown", "touchstart"]) {
		addEventListener(type, () => { globalThis.pointers++; }, true);
	}`

// TestKeyboardOnly plays a whole game without a pointer: from the landing to the money. Wherever the focus is, it
// can be seen.
func TestKeyboardOnly(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	c := campaignOf(t, n, "keys", 100, 4)
	g := &playPage{t: t, Page: browsertest.Open(t, browser.Options{Home: n.url,
		Scripts: []string{watchPointers, watchTaps}})}
	g.Go("/?debug&campaign=" + c.ID)
	g.Mode("landing")
	g.Until("something to play", `!document.getElementById("play").hidden`)
	g.tabTo("#play")
	g.Type(kb.Enter)
	g.Mode("waiting")
	spec := slowRain()
	soon := int64(300)
	spec.StartsInMS, spec.FallMS, spec.DecoyPercent = &soon, 20_000, 0
	r, err := n.client.StartRain(within(t, 10*time.Second), c.ID, spec, "")
	must(t, err)
	g.Mode("falling")

	g.Until("packets in the air",
		`globalThis.redrain?.drops(redrain.serverNow()).filter((d) => d.y > 0).length > 8`)
	// The lowest packet, without looking.
	g.open(2, func() { g.Type(" ") })
	// One that is chosen: the ring moves, and says on what it is.
	g.tabTo("#rain")
	g.open(2, func() {
		g.ringUp()
		g.Type(kb.Enter)
	})
	g.State("played by keys")
	_, err = n.client.StopRain(within(t, 10*time.Second), c.ID, r.ID)
	must(t, err)

	g.Until("the card", `document.getElementById("card").open`)
	g.tabTo("#card-mine")
	// For its first moments the card takes no key: it may have been meant for a packet. They are over when the amount
	// has been counted up.
	var all rain.Money
	for _, claim := range claimsOf(t, n, c.ID) {
		all += claim.Amount
	}
	g.Says("#card-amount", "¥"+yuanOf(all))
	g.Type(kb.Enter)
	g.Until("the sheet", `document.getElementById("sheet").open`)
	testenv.Eventually(t, browser.Patience, "the balance", func() bool { return g.balance() == all })
	g.tabTo("#withdraw-amount")
	g.Type(fmt.Sprintf("%d.%02d", all/100, all%100))
	g.Type(kb.Enter)
	g.tabTo("#withdraw-yes")
	g.Type(kb.Enter)
	awaitWithdrawal(t, n, g.user(), inState("paid"))
	testenv.Eventually(t, browser.Patience, "nothing is left", func() bool { return g.balance() == 0 })
	g.Type(kb.Escape)
	g.Until("the sheet goes", `!document.getElementById("sheet").open`)
	if count := browsertest.Eval[int](g.Page, "globalThis.pointers"); count != 0 {
		t.Errorf("%d pointer events in a game of keys", count)
	}
}

// open lets a key open packets until so many more have won. Each time it opens one, at once. One that lands while the
// tap is on its way wins nothing: that is how fast the machine is, and no fault of the key's.
func (g *playPage) open(wins int, press func()) {
	g.t.Helper()
	end := time.Now().Add(time.Minute)
	for goal := g.have() + wins; g.have() < goal; {
		have, tapped := g.have(), g.tapped()
		press()
		g.Until("the key has opened a packet", `tapped.size === %d`, tapped+1)
		g.Until("its result", `outcomes.size === tapped.size`)
		switch outcome := browsertest.Eval[string](g.Page, `[...outcomes.values()].pop()`); {
		case outcome == "won":
			testenv.Eventually(g.t, browser.Patience, "the packet on the page",
				func() bool { return g.have() == have+1 })
		case outcome != "late" || time.Now().After(end):
			g.t.Fatalf("a packet that was opened is %s", outcome)
		}
	}
}

// ringUp moves the ring up by arrows, until what is said of it is that the packet in it is among the upper half.
func (g *playPage) ringUp() {
	g.t.Helper()
	said := ""
	for range 100 {
		g.Type(kb.ArrowUp)
		var number, total int
		said = g.Text("#announce")
		if n, _ := fmt.Sscanf(said, "Packet %d of %d", &number, &total); n == 2 && number > total/2 {
			return
		}
	}
	g.t.Fatalf("a hundred times up, and the ring is on: %s", said)
}

// tabTo presses Tab until an element has the focus. It must be seen to have it.
func (g *playPage) tabTo(selector string) {
	g.t.Helper()
	for range 40 {
		if browsertest.Eval[bool](g.Page, "document.activeElement.matches(%q)", selector) {
			// The ring is the element's own or that of the frame around it.
			if !browsertest.Eval[bool](g.Page, `[document.activeElement, document.activeElement.parentElement]
				.some((e) => {
				const s = getComputedStyle(e);
				return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== "none";
			})`) {
				g.t.Errorf("%s has the focus, and nobody can see it", selector)
			}
			return
		}
		g.Type(kb.Tab)
	}
	g.t.Fatalf("forty times Tab do not lead to %s", selector)
}
