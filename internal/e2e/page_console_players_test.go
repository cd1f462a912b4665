package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/room"
)

// TestPlayersAndHeldWinsInTheConsole: an operator sees why wins are held, releases one player's and confirms another's.
// They find a player by the beginning of an id and see the socket. A ban closes it, and they lift the ban.
func TestPlayersAndHeldWinsInTheConsole(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	s := realSetting(t)
	cfg := s.config()
	cfg.Risk = "hold"
	n := startNode(t, cfg)
	giveVerdict(t, s, standing.Hold, "bot-1", "机器人 2")
	spec := fund(t, n, "risky", 1_000, 100)
	spec.WinsPerUser = 5
	c := createCampaign(t, n.client, spec)
	startRain(t, n.client, c.ID, longRain(16))
	var last *player
	for _, user := range []string{"李雷", "bot-1", "机器人 2"} {
		last = join(t, n, user, c.ID)
		last.winOne(t)
		last.winOne(t)
	}
	p := browsertest.Open(t, browser.Options{Home: n.url}, browser.Network)
	p.Go("/console#token=" + operatorToken)
	p.Says(".pages .count", "4")
	for _, step := range []struct{ user, press, dialog, toast string }{
		{"bot-1", "Release…", "is paid to 1 player", "2 wins released"},
		{"机器人 2", "Forfeit…", "This cannot be undone", "2 wins forfeited"},
	} {
		goTo(p, "#/risk")
		p.Says("tbody", "Faster than humans +70 12 of 12 taps")
		p.Fill("search [name=user]", step.user)
		p.Until("only theirs", `document.querySelectorAll("tbody tr").length === 2`)
		p.Press(".picked [name=all]")
		p.Says(".picked", "2 selected: ¥")
		p.PressText(step.press)
		p.Says("dialog", step.dialog)
		p.Until("a reason is asked", `document.querySelector("dialog [type=submit]").disabled`)
		p.Fill("dialog .field input", "看过了")
		p.State("decides")
		p.PressTwice("dialog [type=submit]")
		p.Says(".toasts", step.toast)
		p.Until("none of theirs is left", `!document.querySelector("tbody tr")`)
		goTo(p, "#/campaigns")
	}
	p.Until("nothing waits", `!document.querySelector(".pages .count")`)
	if released, forfeited := balanceOf(t, n, "bot-1"), balanceOf(t, n, "机器人 2"); released == 0 || forfeited != 0 {
		t.Errorf("balances %d and %d", released, forfeited)
	}

	goTo(p, "#/users")
	p.Says("tbody", "李雷")
	p.Fill("search [name=user]", "机器")
	p.Until("one is found", `document.querySelectorAll("tbody tr").length === 1`)
	p.Press("tbody a")
	p.Says("h1", "Player 机器人 2")
	p.Says(".details", "1 connection")
	p.Says("main", "needs review")
	p.PressText("Ban…")
	p.Says("dialog", "All connections end at once.")
	p.Fill("dialog .field input", "外挂")
	p.PressTwice("dialog [type=submit]")
	p.Says(".toasts", "is banned")
	wantClose(t, last, room.CodeSentAway)
	p.Says("h1", "banned")
	p.Says("main", "user.ban")
	p.State("banned")
	goTo(p, "#/users")
	p.Says("#bans tbody", "外挂")
	p.PressText("Unban…")
	p.Fill("dialog .field input", "误会")
	p.PressTwice("dialog [type=submit]")
	p.Says("#bans", "No banned players")
}

// TestCampaignsAreFoundInTheConsole: the list is searched, filtered and sorted by the server, page by page.
func TestCampaignsAreFoundInTheConsole(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	spec := fund(t, n, "many", 100_000, 1)
	for i := range 60 {
		spec.Name, spec.Budget = fmt.Sprintf("节目%02d", (i*7)%60), rain.Money(100+i)
		createCampaign(t, n.client, spec)
	}
	list := testenv.Got(n.client.Campaigns(within(t, 10*time.Second), client.Page{Limit: 1})).Must(t)
	testenv.Must(t, testenv.Err(n.client.CloseCampaign(within(t, time.Minute), list.Items[0].ID)))
	p := browsertest.Open(t, browser.Options{Home: n.url}, browser.Network)
	p.Go("/console#token=" + operatorToken)
	names := func(what, want string) {
		t.Helper()
		p.Until(what, `[...document.querySelectorAll(".side li .name > :first-child")]
			.map((e) => e.textContent).join().startsWith(%q)`, want)
	}
	count := func(what string, want int) {
		t.Helper()
		p.Until(what, `document.querySelectorAll(".side li").length === %d`, want)
	}
	count("a page", 50)
	p.Press(".side .end button")
	count("all", 60)
	if asked := browsertest.Eval[int](p, `new Set(performance.getEntriesByType("resource").map((e) => e.name)
		.filter((name) => name.endsWith("/stats"))).size`); asked > 40 {
		t.Errorf("the figures of %d campaigns of 60 were asked for, and few are seen", asked)
	}
	chooseIn(p, ".side [name=sort]", "name.asc")
	names("by name", "节目00,节目01,节目02")
	p.Press(".side .end button")
	count("all by name", 60)
	names("still by name", "节目00,节目01,节目02")
	chooseIn(p, ".side [name=sort]", "budget.desc")
	names("by budget", list.Items[0].Name)
	p.Fill(".side [type=search]", "节目3")
	count("ten have it", 10)
	p.Fill(".side [type=search]", "")
	chooseIn(p, ".side [name=state]", "closed")
	count("one is closed", 1)
	p.Fill(".side [type=search]", "%")
	p.Says(".side", "No campaign matches.")
}

// TestAFirstRainInThreeClicks: the user has started the server and opened the printed address. They make a campaign,
// open the players' page, where a guest plays, and start the rain: three clicks. A reload between them loses nothing.
func TestAFirstRainInThreeClicks(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	p := browsertest.Open(t, browser.Options{Home: n.url}, browser.Network)
	p.Go("/console#token=" + operatorToken)
	p.Says("h1", "Your first rain in three clicks")
	p.State("first run")
	p.Press(".first li:nth-child(1) button")
	p.Until("it is made", `location.hash.startsWith("#/first/")`)
	p.Says(".first", "Created: Trial rain")
	browsertest.Eval[any](p, `(window.isOld = true, void location.reload())`)
	p.Until("it is loaded anew", `!window.isOld && document.readyState === "complete"`)
	p.Says(".first", "Created: Trial rain")
	p.State("made")
	address := browsertest.Eval[string](p, `document.querySelector(".first li:nth-child(2) a").href`)
	phone := browsertest.Open(t, browser.Options{Home: n.url, Device: browser.LargePhone}, browser.Network)
	phone.Go(strings.TrimPrefix(address, n.url))
	p.Press(".first li:nth-child(3) button")
	p.Says(".toasts", "The rain starts at ")
	p.Says(".rainnow", "falling")
	p.State("raining")
	list := testenv.Got(n.client.Campaigns(within(t, 10*time.Second), client.Page{})).Must(t)
	if len(list.Items) != 1 || list.Items[0].Sponsor != "trial" || len(list.Items[0].Rains) != 1 {
		t.Errorf("there is %+v", list.Items)
	}
}
