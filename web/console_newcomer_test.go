package web_test

import (
	"net/http"
	"testing"

	"redrain/internal/browser/browsertest"
)

// TestConsoleFormForgetsWhatADepositMends: what was refused for want of money is not said of a sponsor who has it now,
// and the campaign's page begins at its top, however far down the form's button is.
func TestConsoleFormForgetsWhatADepositMends(t *testing.T) {
	f := newForms(t, "operator")
	p := f.openConsole(t, desk(), "#/new?sponsor=newcomer")
	p.Fill(field("name"), "Gala")
	p.Fill(field("budget"), "1000")
	p.Fill(field("packets"), "100")
	p.Press(fund)
	p.Says(".summary [role=alert]", "Nothing was created and no money moved")
	p.PressText("Deposit ¥1,000.00")
	p.Press("dialog .button.main")
	p.Says(".summary", "goes from ¥1,000.00 to ¥0.00")
	p.Until("the refusal is over", `!document.querySelector(".summary [role=alert]")?.textContent`)
	browsertest.Eval[bool](p, `(scrollTo(0, 9999), scrollY > 0)`)
	p.Press(fund)
	p.Until("the campaign is shown", `location.hash === "#/campaigns/c2" && document.querySelector(".tabs") !== null`)
	if down := browsertest.Eval[float64](p, `scrollY`); down != 0 {
		t.Errorf("its page begins %v px down", down)
	}
}

// TestConsoleHeadSaysWhatIsProved: of new books the live campaigns, until everything has been; and what is wrong at
// once.
func TestConsoleHeadSaysWhatIsProved(t *testing.T) {
	f := newForms(t, "operator")
	proved := func(balanced bool) {
		f.setAnswer("GET /reconciliation/proved", reply(http.StatusOK, object{
			"everything": object{"proved_at": 0, "took_ms": 0, "balanced": false, "findings": 0, "difference": 0},
			"oldest":     f.now(), "stale": false,
			"campaigns": []object{{"campaign": "c1", "proved_at": f.now(), "took_ms": 3, "balanced": balanced,
				"findings": 0, "difference": 0}}}))
	}
	proved(true)
	p := f.openConsole(t, desk(), "#/sponsors")
	p.Says(".status", "✓ The books of the live campaigns balance, proved last")
	proved(false)
	p.Go("/console?again#/sponsors")
	p.Says(".status .bad", "✗ The books do not balance, proved last")
}
