package e2e

import (
	"bytes"
	"encoding/csv"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// TestAGuestIsKnownByName: a guest joins with a name and a face, wins, and is shown with both in another player's
// ticker, on the podium of the big screen, in the console's claims and in their CSV.
func TestAGuestIsKnownByName(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	c := campaignOf(t, n, "gala", 20, 1)
	phone := &playPage{Page: browsertest.Open(t, browser.Options{Home: n.url, Device: browser.Phone,
		Language: "zh-CN,zh"}), t: t}
	phone.Go("/?debug&campaign=" + c.ID)
	phone.Mode("landing")
	phone.Until("a drawn name", `document.getElementById("me-open").matches(".named:not([hidden])")`)
	phone.State("landing")
	phone.Press("#me-open")
	phone.Fill("#me-name", "小雨")
	phone.Press(`#me-faces label:has([value="koi"])`)
	phone.State("name")
	phone.Press("#me-ok")
	phone.Says("#user", "小雨")
	phone.Until("the debug hooks are there", "!!globalThis.redrain")
	other := openPlay(t, c.ID, "", browser.Options{Home: n.url, Device: browser.SmallPhone})
	screen := browsertest.Open(t, browser.Options{Home: n.url, Device: browser.Desktop})
	screen.Go("/screen?campaign=" + c.ID)

	r := startRain(t, n.client, c.ID, slowRain())
	phone.Mode("falling")
	phone.Catch(1)
	other.Says("#ticker-text", "小雨")
	other.Until("the koi", `/faces\/koi/.test(document.querySelector("#ticker img").src)`)
	other.State("ticker")
	testenv.Must(t, testenv.Err(n.client.StopRain(within(t, 10*time.Second), c.ID, r.ID)))
	screen.Says(".podium", "小雨")
	screen.Until("the koi", `!!document.querySelector('.podium img[src*="faces/koi"]')`)
	screen.State("podium")

	console := browsertest.Open(t, browser.Options{Home: n.url, Device: browser.Desktop})
	console.Go("/console#token=" + operatorToken)
	console.Until("the console", `document.querySelector("nav.pages") !== null`)
	goTo(console, "#/campaigns/"+c.ID+"/claims")
	console.Says("tbody", "小雨")
	console.State("claims")
	a := newAPIClient(t, n).call("GET", "/campaigns/"+c.ID+"/claims", "", "Accept", "text/csv")
	rows := testenv.Got(csv.NewReader(bytes.NewReader(a.body)).ReadAll()).Must(t)
	if len(rows) != 2 {
		t.Fatalf("CSV: %s", a.body)
	}
	row := map[string]string{}
	for i, column := range rows[0] {
		row[column] = rows[1][i]
	}
	testenv.Equal(t, row["nickname"]+" "+row["face"], "小雨 koi", "the player of the claim")
	phone.Press("#card-ok")
	phone.Press("#me-edit")
	phone.Until("the dialog with the present name", `document.getElementById("me").open`)
	phone.Fill("#me-name", "大雨")
	phone.Press("#me-ok")
	phone.Says("#user", "大雨")
}
