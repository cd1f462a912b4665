package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"redrain/internal/testenv"

	"redrain/internal/browser"
	"redrain/internal/browser/browsertest"
	"redrain/rain"
)

// TestAnOperatorFundsACampaign goes through the console's form on the in-process default, from a sponsor that
// nobody knows to a campaign that is stocked: the server has made exactly what was in the form, and every cent is
// where the console says.
func TestAnOperatorFundsACampaign(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	p := browsertest.Open(t, browser.Options{Home: n.url}, browser.Network) // a sponsor that is not there yet is a 404
	p.Go("/console#token=" + operatorToken)
	p.Until("signed in", `document.querySelector("header nav") !== null`)
	browsertest.Eval[bool](p, `(location.hash = "#/new", true)`)
	field := func(name string) string { return `.create [name="` + name + `"]` }
	for name, text := range map[string]string{
		"name": "Bob's 年会 <3", "sponsor": "acme", "budget": "1,234.56", "packets": "321", "min": "0.88", "max": "9.99",
		"wins_per_user": "2", "shards": "3", "expires_in_ms": "36",
	} {
		p.Fill(field(name), text)
	}
	p.Says(".preview", "About 1 in")
	p.Says(".funds", "¥1,234.56 short of the budget")
	p.PressText("Deposit ¥1,234.56")
	p.Press("dialog .button.main")
	p.Says(".summary", "from ¥1,234.56 to ¥0.00")
	p.PressTwice(".summary button")
	p.Until("the campaign is shown", `/^#\/campaigns\/./.test(location.hash)`)

	c := newAPIClient(t, n)
	var list struct {
		Items []struct {
			ID string `json:"id"`
			rain.Spec
		} `json:"items"`
	}
	if err := json.Unmarshal(c.call(http.MethodGet, "/campaigns", "").body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 {
		t.Fatalf("a double click made %d campaigns", len(list.Items))
	}
	most := rain.Money(999)
	want := rain.Spec{
		Name: "Bob's 年会 <3", Sponsor: "acme", Budget: 123_456, Packets: 321, Split: rain.DoubleMean, Min: 88,
		Max:         &most,
		WinsPerUser: 2, Shards: 3, ExpiresInMS: 36 * 3_600_000,
	}
	got := list.Items[0]
	if *got.Max != most {
		t.Errorf("max is %d", *got.Max)
	}
	got.Max, want.Max = nil, nil
	if a, b := asJSON(t, got.Spec), asJSON(t, want); a != b {
		t.Errorf("the server made %s, want %s", a, b)
	}

	browsertest.Eval[bool](p, `(location.hash += "/reconciliation", true)`)
	p.Says(".verdict.good", "Balanced: every cent is accounted for.")
	p.Says(".line", "¥1,234.56 = ¥0.00 + ¥0.00 + ¥1,234.56 + ¥0.00 + ¥0.00")
	browsertest.Eval[bool](p, `(location.hash = "#/audit", true)`)
	p.Says("tbody", "campaign.create")
	browsertest.Eval[bool](p, `(location.hash = "#/reconciliation", true)`)
	p.PressText("Check")
	p.Says(".verdict.good", "All books balance: every cent of 1 campaign")
	browsertest.Eval[bool](p, `(location.hash = "#/sponsors", true)`)
	p.Says("tbody", "acme")

	// A clone finds the sponsor empty, and the server's refusal moves nothing.
	browsertest.Eval[bool](p, `(location.hash = "#/new?from=`+got.ID+`", true)`)
	p.Says(".summary", "of acme moves into this campaign")
	if name := browsertest.Eval[string](p, `document.querySelector('[name="name"]').value`); name != "Bob's 年会 <3 (2)" {
		t.Errorf("the clone is called %q", name)
	}
	p.Press(".summary button")
	p.Says(".summary [role=alert]", "Nothing was created and no money moved")
	if s := string(c.call(http.MethodGet, "/sponsors/acme", "").body); !strings.Contains(s, `"balance":0`) {
		t.Errorf("the sponsor is %s", s)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
