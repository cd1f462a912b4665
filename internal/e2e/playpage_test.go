package e2e

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/rain"
)

// playPage is the player's page of a test, played as a person plays it: by pointers, keys, and what there is to see.
type playPage struct {
	*browsertest.Page
	t *testing.T
}

// openPlay opens the player's page at an address of a node, for a campaign, with its debug hooks. user "" is a guest.
func openPlay(t *testing.T, campaign, user string, o browser.Options, forgiven ...browser.Kind) *playPage {
	t.Helper()
	g := &playPage{Page: browsertest.Open(t, o, forgiven...), t: t}
	address := "/?debug&campaign=" + url.QueryEscape(campaign)
	if user != "" {
		address += "#code=" + loginCode(t, o.Home, user)
	}
	g.Go(address)
	if user == "" {
		g.Mode("landing")
		g.State("landing")
		g.Press("#play")
	}
	g.Until("the debug hooks are there", "!!globalThis.redrain")
	g.Until("the page is in the room", `!["landing", "entering"].includes(document.body.dataset.mode)`)
	return g
}

// loginCode is a code that signs a player in at a node, made with the player's own token.
func loginCode(t *testing.T, home, user string) string {
	t.Helper()
	api := testenv.Got(client.New(client.Options{Server: home, Token: token(t, user)})).Must(t)
	defer api.Close()
	return testenv.Got(api.LoginCode(within(t, 20*time.Second), client.LoginWish{})).Must(t).Code
}

// Mode waits until the page is in a mode.
func (g *playPage) Mode(want string) {
	g.t.Helper()
	g.Until("the page is "+want, `document.body.dataset.mode === %q`, want)
}

// falling is a drop as the page has it: its middle, size and angle.
type falling struct {
	ID    string  `json:"id"`
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	W     float64 `json:"w"`
	H     float64 `json:"h"`
	Angle float64 `json:"angle"`
	Decoy bool    `json:"decoy"`
}

// target is a packet that can be hit now: wholly in sight, under nothing, not tapped yet. It is the highest of them, so
// that there is time to hit it; nil without one.
func (g *playPage) target() *falling {
	g.t.Helper()
	return browsertest.Eval[*falling](g.Page, `(() => {
		const { redrain } = globalThis, canvas = document.getElementById("rain");
		return (redrain?.drops(redrain.serverNow()) ?? [])
			.filter((d) => !d.decoy && d.y > d.h && d.y < innerHeight - d.h)
			.filter((d) => document.elementFromPoint(d.x, d.y) === canvas)
			.sort((a, b) => a.y - b.y)[0] ?? null;
	})()`)
}

// have is the player's number of packets, by the page.
func (g *playPage) have() int {
	g.t.Helper()
	return browsertest.Eval[int](g.Page,
		`Number(document.getElementById("mine-count").textContent.match(/\d+/)?.[0] ?? 0)`)
}

// Hit hits a packet, if there is one, and reports whether it did: a hit packet is in the air no more. A packet that
// falls on while the finger comes down is missed; the page does not notice.
func (g *playPage) Hit() bool {
	g.t.Helper()
	d := g.target()
	if d == nil {
		return false
	}
	g.Point(browser.Point{X: d.X, Y: d.Y})
	return !browsertest.Eval[bool](g.Page, "redrain.drops(redrain.serverNow()).some((d) => d.id === %q)", d.ID)
}

// Catch hits packets, each after the answer to the one before, until the page says that the player has so many.
// Every packet that is hit has to win.
func (g *playPage) Catch(count int) {
	g.t.Helper()
	for have := g.have(); have < count; have++ {
		testenv.Eventually(g.t, time.Minute, "a packet to hit", g.Hit)
		g.Until(fmt.Sprintf("%d packets on the page", have+1),
			`Number(document.getElementById("mine-count").textContent.match(/\d+/)?.[0] ?? 0) > %d`, have)
	}
}

// balance is the balance that the page shows, in minor units.
func (g *playPage) balance() rain.Money {
	g.t.Helper()
	return browsertest.Eval[rain.Money](g.Page,
		`Math.round(Number(document.getElementById("balance").textContent.replace(/[^\d.]/g, "")) * 100)`)
}

func campaignOf(t *testing.T, n *node, name string, packets, wins int) client.Campaign {
	t.Helper()
	spec := fund(t, n, name, rain.Money(packets)*100, packets)
	spec.WinsPerUser = wins
	return createCampaign(t, n.client, spec)
}

// slowRain begins in three seconds, so that there is a countdown. It is slow enough for a test to hit its targets.
func slowRain() rain.RainSpec {
	spec := shortRain(3_500)
	spec.DurationMS, spec.FallMS, spec.DropsPerSecond, spec.DecoyPercent = 120_000, 12_000, 4, 20
	return spec
}
