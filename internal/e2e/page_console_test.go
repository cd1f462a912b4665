package e2e

import (
	"fmt"
	"testing"
	"time"

	"redrain/internal/browser"
	"redrain/internal/browser/browsertest"
	"redrain/internal/operator"
	"redrain/internal/testenv"
)

// TestOperatorAtWork leads a campaign through its life in the console, on the real back ends and on the stand-ins:
// money comes in, it is made, it rains on a player, it is paused, resumed, stopped and closed, and every cent is
// accounted for.
func TestOperatorAtWork(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for _, b := range pagesUnderTest {
		t.Run(b.name, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			n := nodes[0]
			p := browsertest.Open(t, browser.Options{Home: n.url})
			p.Go("/console")
			p.Says("h1", "Sign in")
			p.State("sign in")
			p.Fill("input[name=token]", operatorToken)
			p.Press("form button[type=submit]")
			p.Says("body", "There is no campaign yet")

			depositInConsole(t, p, n)
			id := createInConsole(t, p, n)
			startInConsole(t, p, n, id)
			player := join(t, nodes[len(nodes)-1], "林小雨", id)
			for range 3 {
				if r := player.answered(t, player.tap(player.freshDrop(t))); r.Outcome != "won" {
					t.Fatalf("%+v", r)
				}
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
	sponsor, err := n.client.Sponsor(within(t, 10*time.Second), "acme")
	must(t, err)
	if sponsor.Balance != 50_000 {
		t.Errorf("a double click has deposited %d", sponsor.Balance)
	}
}

func goTo(p *browsertest.Page, hash string) {
	p.T.Helper()
	browsertest.Eval[bool](p, "(location.hash = %q, true)", hash)
}

// createInConsole fills the form, looks at the preview, and creates a campaign with an impatient double click.
func createInConsole(t *testing.T, p *browsertest.Page, n *node) (id string) {
	t.Helper()
	goTo(p, "#/new")
	for name, value := range map[string]string{"name": "Gala", "sponsor": "acme", "budget": "300", "packets": "60",
		"wins_per_user": "5"} {
		p.Fill("form [name="+name+"]", value)
	}
	p.Until("a preview", `document.querySelectorAll(".histogram rect").length > 5`)
	p.Says(".summary", "¥300.00 of acme moves into this campaign, in 60 packets.")
	p.Says(".summary", "The balance of acme goes from ¥500.00 to ¥200.00.")
	p.State("new")
	p.PressTwice(".summary button[type=submit]")
	p.Says("h1", "Gala")
	list, err := n.client.Campaigns(within(t, 10*time.Second), operator.Page{})
	must(t, err)
	if len(list.Items) != 1 {
		t.Fatalf("a double click has made %d campaigns", len(list.Items))
	}
	c := list.Items[0]
	if c.Name != "Gala" || c.Sponsor != "acme" || c.Budget != 30_000 || c.Packets != 60 || c.WinsPerUser != 5 {
		t.Errorf("created: %+v", c)
	}
	sponsor, err := n.client.Sponsor(within(t, 10*time.Second), "acme")
	must(t, err)
	if sponsor.Balance != 20_000 {
		t.Errorf("acme has %d left", sponsor.Balance)
	}
	return c.ID
}

// startInConsole starts a rain that falls slowly, with a double click that makes one.
func startInConsole(t *testing.T, p *browsertest.Page, n *node, id string) {
	t.Helper()
	p.PressText("Start a rain…")
	for name, value := range map[string]string{"starts_in_ms": "1", "duration_ms": "120", "fall_ms": "15"} {
		p.Fill("dialog [name="+name+"]", value)
	}
	if was := chooseIn(p, "dialog [name=pacing]", "none"); was != "even" { // so that the first tap wins
		t.Errorf("the pacing of a new rain is %q", was)
	}
	p.Says("dialog", "120 s, 8 packets a second = about 960 packets on each screen.")
	p.State("start a rain")
	p.PressTwice("dialog button[type=submit]")
	p.Until("the dialog goes", `!document.querySelector("dialog[open]")`)
	c, err := n.client.Campaign(within(t, 10*time.Second), id)
	must(t, err)
	if len(c.Rains) != 1 {
		t.Errorf("a double click has made %d rains", len(c.Rains))
	}
	p.Says(".rainnow", "falling")
}

// chooseIn chooses an option of a select, and returns the one before.
func chooseIn(p *browsertest.Page, selector, value string) (before string) {
	p.T.Helper()
	return browsertest.Eval[string](p, `((el, was) => {
		was = el.value;
		el.value = %q;
		el.dispatchEvent(new Event("change", { bubbles: true }));
		return was;
	})(document.querySelector(%q))`, value, selector)
}

// ruleInConsole pauses, resumes, stops and closes. Each asks first, and names the money.
func ruleInConsole(t *testing.T, p *browsertest.Page, n *node, id string) {
	t.Helper()
	s, err := n.client.Stats(within(t, 10*time.Second), id)
	must(t, err)
	left := fmt.Sprintf("¥%s in %d packets", yuanOf(s.AmountLeft), s.Stock)
	for _, step := range []struct{ press, says, yes, state string }{
		{"Pause…", left + " stays where it is", "Pause", "paused"},
		{"Resume…", "the remaining " + left, "Resume", "raining"},
		{"Stop the rain…", left + " stays in the campaign", "Stop it", "ready"},
		{"Close…", left + " goes back to sponsor acme", "Close the campaign", "closed"},
	} {
		p.PressText(step.press)
		p.Says("dialog", step.says)
		p.State("asks " + step.yes)
		p.Press(`//dialog//button[normalize-space()="` + step.yes + `"]`)
		p.Until("the dialog goes", `!document.querySelector("dialog[open]")`)
		p.Says(".head", step.state)
		c, err := n.client.Campaign(within(t, 10*time.Second), id)
		must(t, err)
		if c.State != step.state {
			t.Errorf("after %q the campaign is %s", step.yes, c.State)
		}
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

// TestConsoleStates looks at every page of the console with something in it, on a phone and a desk, in both languages.
func TestConsoleStates(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	c := rainsOn(t, n, "gala", 200, 3, slowRain())
	must(t, deposited(t, n))
	players := []*player{join(t, n, "player-one", c.ID), join(t, n, "player-two", c.ID)}
	for _, p := range players {
		for range 3 {
			p.answered(t, p.tap(p.freshDrop(t)))
		}
	}
	testenv.Eventually(t, browser.Patience, "all is paid", func() bool {
		s, err := n.client.Stats(within(t, 10*time.Second), c.ID)
		return err == nil && s.Paid == 6
	})
	_, err := asPlayer(t, n, "player-one").Withdraw(within(t, 10*time.Second), 1, "w1")
	must(t, err)
	places := []struct{ name, hash, there string }{
		{"list", "#/campaigns", ".side li"}, {"live", "#/campaigns/" + c.ID, ".u-wrap canvas"},
		{"rains", "#/campaigns/" + c.ID + "/rains", "tbody tr"},
		{"claims", "#/campaigns/" + c.ID + "/claims", "tbody tr"},
		{"reconciliation", "#/campaigns/" + c.ID + "/reconciliation", ".verdict"},
		{"details", "#/campaigns/" + c.ID + "/details", "dl"}, {"new", "#/new?from=" + c.ID, ".histogram rect"},
		{"sponsors", "#/sponsors", "tbody tr"},
		{"user", "#/users/player-one", "tbody tr"}, {"payouts", "#/payouts", "main"},
		{"withdrawals", "#/withdrawals", "tbody tr"},
		{"audit", "#/audit", "tbody tr"}, {"api", "#/api", ".snippet"}, {"books", "#/reconciliation", "main"},
	}
	for language, accept := range languages {
		// On a phone, because where there is room the list goes on to its first campaign at once.
		// Where the machine is slow, figures do not come in time, and the page asks again.
		p := browsertest.Open(t, browser.Options{Home: n.url, Language: accept, Device: browser.LargePhone},
			browser.Network)
		p.Looked = p.Named
		p.Go("/console#token=" + operatorToken)
		for _, place := range places {
			goTo(p, place.hash)
			p.Until(place.hash, `location.hash === %q && document.querySelector(%q)?.checkVisibility() === true`,
				place.hash, place.there)
			p.Look("console-"+place.name, language, []browser.Device{browser.LargePhone, browser.Desktop},
				append(names, c.ID)...)
		}
	}
}

// languages are those of the pages, with what browsers say for them.
var languages = map[string]string{"en": "en-US,en", "zh": "zh-CN,zh"}

// names are the same in every language.
var names = []string{"redrain", "player-one", "player-two", "sponsor-gala", "gala", "acme", "Redis",
	// The audit log is a record: it says what was sent.
	"operator", "deposit", "rain.start", "campaign.create", "campaign:", "sponsor:", "address:", "after:", "amount:",
	"before", "reference:", "invoice", "provider", "wallet"}

func deposited(t *testing.T, n *node) error {
	t.Helper()
	_, err := n.client.Deposit(within(t, 10*time.Second), "acme", "invoice 17", 50_000)
	return err
}
