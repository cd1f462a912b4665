package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/rain"
)

// TestTwoPeoplePlay: a guest with a phone and a player with a token at a desk play one rain with fingers and mouse.
// They do it in process and on a cluster. Both win, the pages show the ledger's amounts, and both withdraw their
// money.
func TestTwoPeoplePlay(t *testing.T) {
	t.Parallel()
	for _, b := range pagesUnderTest {
		t.Run(b.name, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			n, far := nodes[0], nodes[len(nodes)-1]
			const wins = 3
			c := campaignOf(t, n, "gala", 60, wins)
			phone := openPlay(t, c.ID, "", browser.Options{Home: n.url, Device: browser.SmallPhone})
			desk := openPlay(t, c.ID, "desk", browser.Options{Home: far.url, Language: "zh-CN,zh"})
			people := []*playPage{phone, desk}
			for _, g := range people {
				g.Mode("waiting")
				g.State("waiting")
			}
			r := startRain(t, n.client, c.ID, slowRain())
			for _, g := range people {
				g.Mode("falling")
				g.Catch(wins)
				g.State("won")
			}
			testenv.Must(t, testenv.Err(n.client.StopRain(within(t, 10*time.Second), c.ID, r.ID)))
			won := wonOf(t, n, c.ID, wins)
			for _, g := range people {
				g.checkAfter(t, won, wins)
			}
			awaitBooks(t, n.client, c.ID)
		})
	}
}

// wonOf is each player's sum of wins, by the ledger: two players, each with so many packets.
func wonOf(t *testing.T, n *node, campaign string, each int) map[string]rain.Money {
	t.Helper()
	won, count := map[string]rain.Money{}, map[string]int{}
	for _, claim := range claimsOf(t, n.client, campaign) {
		won[claim.User] += claim.Amount
		count[claim.User]++
	}
	for user, n := range count {
		testenv.Equal(t, n, each, "packets of %s", user)
	}
	if len(won) != 2 {
		t.Fatalf("packets of %d players, want 2: %v", len(won), won)
	}
	return won
}

// checkAfter looks at the card, the packets and the balance after the rain, and takes the money out.
func (g *playPage) checkAfter(t *testing.T, won map[string]rain.Money, wins int) {
	t.Helper()
	g.Until("the card", `document.getElementById("card").open`)
	user := g.user()
	amount, known := won[user]
	if !known {
		t.Fatalf("the page is of %q; packets were won by %v", user, won)
	}
	g.Says("#card-amount", "¥"+yuanOf(amount)) // it is counted up
	g.State("card")
	g.Press("#card-mine")
	g.Until("the packets", `document.querySelectorAll("#sheet-list li").length === %d`, wins)
	testenv.Eventually(t, browser.Patience, "the balance is what was won", func() bool { return g.balance() == amount })
	g.State("packets")

	asked := amount / 2
	g.Fill("#withdraw-amount", yuanOf(asked))
	g.Press("#withdraw-go")
	g.PressTwice("#withdraw-yes")
	w := awaitWithdrawal(t, g.node(), user, inState("paid"))
	testenv.Equal(t, w.Amount, asked, "what %s has taken out", user)
	g.Says("#withdrawals", yuanOf(asked))
	testenv.Eventually(t, browser.Patience, "the balance is what is left",
		func() bool { return g.balance() == amount-asked })
	testenv.Equal(t, balanceOf(t, g.node(), user), amount-asked,
		"balance of %s in the ledger, while the page says %d", user, g.balance())
	g.State("withdrawn")
	g.CheckFaults()
}

func yuanOf(m rain.Money) string { return fmt.Sprintf("%d.%02d", m/100, m%100) }

// user is the player's name, as the server knows them by the page's token.
func (g *playPage) user() string {
	g.t.Helper()
	return browsertest.Eval[string](g.Page, `document.getElementById("user").title`)
}

// node is the node that the page is of.
func (g *playPage) node() *node { return nodeAt(g.t, g.Home()) }

// TestPagesOpen opens the other pages and looks for faults in their consoles, and for requests to other hosts.
func TestPagesOpen(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	cfg := setting{}.config()
	cfg.Demo = true
	n := startNode(t, cfg)
	for page, visible := range map[string]string{
		"/screen": "canvas", "/console#token=" + operatorToken: "nav.pages", "/docs": "main",
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(page, "/"), "#")
		t.Run(name, func(t *testing.T) {
			p := browsertest.Open(t, browser.Options{Home: n.url})
			p.Go(page)
			p.Until(visible+" is there", `document.querySelector(%q)?.checkVisibility() ?? false`, visible)
			p.Shoot("open")
		})
	}
}
