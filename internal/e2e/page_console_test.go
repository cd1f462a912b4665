package e2e

import (
	"fmt"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/rain"
)

// TestOperatorAtWork leads a campaign through its life in the console, on the real back ends and in process.
// Money comes in, the campaign is made, and it rains on a player. It is paused, resumed, stopped and closed, and every
// cent is accounted for.
func TestOperatorAtWork(t *testing.T) {
	t.Parallel()
	for _, b := range pagesUnderTest {
		t.Run(b.name, func(t *testing.T) {
			if b.nodes > 1 {
				testenv.RunsFrom(t, testenv.All)
			}
			testenv.ParallelBrowser(t, testenv.Heavy)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			n := nodes[0]
			p := browsertest.Open(t, browser.Options{Home: n.url})
			p.Go("/console")
			p.Says("h1", "Sign in")
			p.State("sign in")
			p.Fill("input[name=token]", operatorToken)
			p.Press("form button[type=submit]")
			p.Says("body", "No campaigns yet")

			depositInConsole(t, p, n)
			id := createInConsole(t, p, n)
			startInConsole(t, p, n, id)
			player := join(t, nodes[len(nodes)-1], "林小雨", id)
			for range 3 {
				player.winOne(t)
			}
			p.Says("[data-stat=won]", "3")
			p.Says("[data-stat=online]", "1")
			p.Says("[data-stat=paid]", "3")
			p.State("live")
			ruleInConsole(t, p, n, id)
			checkBooksInConsole(t, p, n, id, player)
		})
	}
}

// depositInConsole books money for a sponsor that is not known yet.
func depositInConsole(t *testing.T, p *browsertest.Page, n *node) {
	t.Helper()
	goTo(p, "#/sponsors")
	p.PressText("Deposit")
	for name, value := range map[string]string{"sponsor": "acme", "amount": "500", "reference": "invoice 17"} {
		p.Fill("dialog [name="+name+"]", value)
	}
	p.State("deposit")
	p.PressTwice("dialog button[type=submit]")
	p.Says("tbody", "¥500.00")
	testenv.Equal(t, depositOf(t, n, "acme"), 50_000, "a double click has deposited")
}

func goTo(p *browsertest.Page, hash string) {
	p.T.Helper()
	browsertest.Eval[bool](p, "(location.hash = %q, true)", hash)
}

// createInConsole fills the form, looks at the preview, and creates a campaign with an impatient double click.
func createInConsole(t *testing.T, p *browsertest.Page, n *node) (id string) {
	t.Helper()
	goTo(p, "#/new")
	p.Press(".create summary")
	for name, value := range map[string]string{"name": "Bob's 年会 <3", "sponsor": "acme", "budget": "300.00",
		"packets": "60", "wins_per_user": "5", "min": "0.88", "max": "19.99", "shards": "3", "expires_in_ms": "36"} {
		p.Fill("form [name="+name+"]", value)
	}
	p.Until("a preview", `document.querySelectorAll(".histogram rect").length > 5`)
	p.Says(".summary", "¥300.00 moves from acme into this campaign, in 60 packets.")
	p.Says(".summary", "acme’s balance goes from ¥500.00 to ¥200.00.")
	p.State("new")
	p.PressTwice(".summary button[type=submit]")
	p.Says("h1", "Bob's 年会 <3")
	list := testenv.Got(n.client.Campaigns(within(t, 10*time.Second), client.Page{})).Must(t)
	if len(list.Items) != 1 {
		t.Fatalf("a double click has made %d campaigns", len(list.Items))
	}
	c, most := list.Items[0], rain.Money(1_999)
	want := rain.Spec{Name: "Bob's 年会 <3", Sponsor: "acme", Budget: 30_000, Packets: 60,
		Split: rain.DoubleMean, Min: 88, Max: &most, WinsPerUser: 5, Shards: 3, ExpiresInMS: 36 * 3_600_000}
	testenv.Equal(t, c.CampaignTerms, want, "created")
	testenv.Equal(t, depositOf(t, n, "acme"), 20_000, "acme has left")
	return c.ID
}

// startInConsole starts a rain that falls slowly, with a double click that makes one.
func startInConsole(t *testing.T, p *browsertest.Page, n *node, id string) {
	t.Helper()
	p.PressText("Start a rain…")
	p.Press("dialog summary")
	for name, value := range map[string]string{"starts_in_ms": "1", "duration_ms": "120", "fall_ms": "15"} {
		p.Fill("dialog [name="+name+"]", value)
	}
	p.Says("dialog", "120 s, 8 packets a second = about 960 packets on each screen.")
	p.State("start a rain")
	p.PressTwice("dialog button[type=submit]")
	p.Until("the dialog goes", `!document.querySelector("dialog[open]")`)
	c := testenv.Got(n.client.Campaign(within(t, 10*time.Second), id)).Must(t)
	testenv.Equal(t, len(c.Rains), 1, "rains of a double click")
	p.Says(".rainnow", "falling")
}

// chooseIn chooses an option of a select.
func chooseIn(p *browsertest.Page, selector, value string) {
	p.T.Helper()
	browsertest.Eval[bool](p, `((el) => {
		el.value = %q;
		return el.dispatchEvent(new Event("change", { bubbles: true }));
	})(document.querySelector(%q))`, value, selector)
}

// ruleInConsole pauses, resumes, stops and closes. Each asks first, and names the money.
func ruleInConsole(t *testing.T, p *browsertest.Page, n *node, id string) {
	t.Helper()
	s := testenv.Got(n.client.Stats(within(t, 10*time.Second), id)).Must(t)
	left := fmt.Sprintf("¥%s in %d packets", yuanOf(s.AmountLeft), s.Stock)
	for _, step := range []struct{ press, says, yes, state string }{
		{"Pause…", left + " stays in the campaign", "Pause", "paused"},
		{"Resume…", "the remaining " + left, "Resume", "raining"},
		{"Stop the rain…", left + " stays in the campaign", "Stop it", "ready"},
		{"Close…", left + " returns to sponsor acme", "Close campaign", "closed"},
	} {
		p.PressText(step.press)
		p.Says("dialog", step.says)
		p.State("asks " + step.yes)
		p.Press(`//dialog//button[normalize-space()="` + step.yes + `"]`)
		p.Until("the dialog goes", `!document.querySelector("dialog[open]")`)
		p.Says(".head", step.state)
		c := testenv.Got(n.client.Campaign(within(t, 10*time.Second), id)).Must(t)
		testenv.Equal(t, c.State, step.state, "after %q the campaign is", step.yes)
	}
}

// checkBooksInConsole looks at the claims, the books and the audit log of a campaign that has been closed.
func checkBooksInConsole(t *testing.T, p *browsertest.Page, n *node, id string, player *player) {
	t.Helper()
	awaitBooks(t, n.client, id)
	goTo(p, "#/campaigns/"+id+"/claims")
	p.Until("three claims", `document.querySelectorAll("tbody tr").length === 3`)
	wins := player.wins()
	for _, w := range wins {
		p.Says("tbody", yuanOf(w.Amount))
	}
	p.State("claims")
	goTo(p, "#/campaigns/"+id+"/reconciliation")
	p.Says(".verdict", "Balanced: every cent is accounted for.")
	p.State("reconciliation")
	goTo(p, "#/reconciliation")
	p.PressText("Check")
	p.Says("main", "All books balance")
	goTo(p, "#/audit")
	for _, action := range []string{"deposit", "campaign.create", "rain.start", "campaign.pause", "campaign.resume",
		"rain.stop", "campaign.close"} {
		p.Says("table", action)
	}
	p.State("audit")
}
