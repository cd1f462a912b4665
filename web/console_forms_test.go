package web_test

import (
	"strings"
	"testing"

	chromium "redrain/internal/browser"
	"redrain/internal/browser/browsertest"
)

// openConsole opens a page of the console, signed in.
func (f *formsServer) openConsole(t *testing.T, o chromium.Options, place string) *browsertest.Page {
	t.Helper()
	o.Home = f.URL
	o.Scripts = append(o.Scripts, `sessionStorage.setItem("redrain.operator", "op")`)
	p := browsertest.Open(t, o, chromium.Network)
	p.Go("/console" + place)
	return p
}

// TestConsoleForms looks at every form and list, on a phone and on a desk, in both languages.
func TestConsoleForms(t *testing.T) {
	for _, o := range []chromium.Options{
		{Device: chromium.Device{Name: "phone", Width: 390, Height: 844, Scale: 1, Touch: true}, Language: "zh-CN,zh"},
		{Device: chromium.Device{Name: "phone", Width: 360, Height: 740, Scale: 1, Touch: true}, Language: "en-US,en", Dark: true},
		{Device: chromium.Device{Name: "desk", Width: 1280, Height: 900, Scale: 1}, Language: "zh-CN,zh", Dark: true},
		{Device: chromium.Device{Name: "desk", Width: 1280, Height: 900, Scale: 1}, Language: "en-US,en"},
	} {
		t.Run(o.Device.Name+"-"+o.Language[:2], func(t *testing.T) {
			f := newForms(t, "operator")
			f.letters = []object{
				f.letter("c1-7", "pay", "u1", 88, "account user:u1 is closed"),
				f.letter("w5xq2o4n7h3k1m9ab", "withdrawal", "guest-7f3a91", 128_800, "the provider gave no clear answer: read tcp: i/o timeout"),
			}
			p := f.openConsole(t, o, "#/new?from=c1")
			p.Until("a preview", `document.querySelectorAll(".histogram rect").length > 5`)
			p.State("create")
			for place, there := range map[string]string{
				"sponsors": "tbody tr", "payouts": "tbody tr", "withdrawals": "tbody tr", "users/u1": "tbody tr", "audit": "tbody tr",
				"api": ".snippet", "reconciliation": ".empty", "campaigns/c1/claims": "tbody tr", "campaigns/c1/reconciliation": "tfoot",
			} {
				p.Go("/console?" + place + "#/" + place) // another address, so that nothing of the page before is looked at
				p.Until(place, `document.querySelector(%q)?.checkVisibility() === true`, there)
				p.State(strings.ReplaceAll(place, "/", "-"))
				if wide := browsertest.Eval[float64](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
					t.Errorf("%s is %v px wider than the screen", place, wide)
				}
			}
		})
	}
}
