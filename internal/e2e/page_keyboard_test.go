package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"redrain/internal/browser"
	"redrain/internal/browser/browsertest"
	"redrain/internal/testenv"
)

// watchPointers counts what no keyboard makes.
const watchPointers = `globalThis.pointers = 0;
	for (const type of ["pointerdown", "mousedown", "touchstart"]) addEventListener(type, () => { globalThis.pointers++; }, true);`

// TestKeyboardOnly plays a whole game without a pointer: from the landing to the money. Wherever the focus is, it
// can be seen.
func TestKeyboardOnly(t *testing.T) {
	testenv.Parallel(t, testenv.Medium)
	n := startNode(t, setting{}.config())
	c := campaignOf(t, n, "keys", 100, 4)
	g := &playPage{Page: browsertest.Open(t, browser.Options{Home: n.url, Scripts: []string{watchPointers}}), t: t}
	g.Go("/?debug&campaign=" + c.ID)
	g.Mode("landing")
	g.tabTo("#play")
	g.Type(kb.Enter)
	g.Mode("waiting")
	spec := slowRain()
	soon := int64(300)
	spec.StartsInMS = &soon
	r, err := n.client.StartRain(within(t, 10*time.Second), c.ID, spec, "")
	must(err)
	g.Mode("falling")

	// The lowest packet, without looking.
	testenv.Eventually(t, time.Minute, "two packets by the space bar", func() bool {
		g.Type(" ")
		return g.have() >= 2
	})
	// One that is chosen: the ring moves, and says on what it is.
	g.tabTo("#rain")
	testenv.Eventually(t, time.Minute, "two more by arrows and Enter", func() bool {
		g.Type(kb.ArrowUp)
		g.Type(kb.ArrowRight)
		if said := g.Text("#announce"); said != "" {
			g.Type(kb.Enter)
		}
		return g.have() >= 4
	})
	g.State("played by keys")
	_, err = n.client.StopRain(within(t, 10*time.Second), c.ID, r.ID)
	must(err)

	g.Until("the card", `document.getElementById("card").open`)
	g.tabTo("#card-mine")
	// For its first moments the card takes no key: it may have been meant for a packet.
	testenv.Eventually(t, browser.Patience, "the sheet", func() bool {
		if browsertest.Eval[bool](g.Page, `document.activeElement.id === "card-mine"`) {
			g.Type(kb.Enter)
		}
		return browsertest.Eval[bool](g.Page, `document.getElementById("sheet").open`)
	})
	testenv.Eventually(t, browser.Patience, "the balance", func() bool { return g.balance() > 0 })
	all := g.balance()
	g.tabTo("#withdraw-amount")
	g.Type(fmt.Sprintf("%d.%02d", all/100, all%100))
	g.Type(kb.Enter)
	awaitWithdrawal(t, n, g.user(), inState("paid"))
	testenv.Eventually(t, browser.Patience, "nothing is left", func() bool { return g.balance() == 0 })
	g.Type(kb.Escape)
	g.Until("the sheet goes", `!document.getElementById("sheet").open`)
	if count := browsertest.Eval[int](g.Page, "globalThis.pointers"); count != 0 {
		t.Errorf("%d pointer events in a game of keys", count)
	}
}

// tabTo presses Tab until an element has the focus. It must be seen to have it.
func (g *playPage) tabTo(selector string) {
	g.t.Helper()
	for range 40 {
		if browsertest.Eval[bool](g.Page, "document.activeElement.matches(%q)", selector) {
			// The ring is the element's own or that of the frame around it.
			if !browsertest.Eval[bool](g.Page, `[document.activeElement, document.activeElement.parentElement].some((e) => {
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
