package web_test

import (
	"net/http"
	"testing"

	"redrain/internal/browser/browsertest"
	"redrain/internal/testenv"
)

// TestConsoleFormForgetsWhatADepositMends: what was refused for want of money is not said of a sponsor who has it now,
// and the campaign's page begins at its top, however far down the form's button is.
func TestConsoleFormForgetsWhatADepositMends(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newForms(t, "operator")
	p := f.openConsole(t, desk(), "#/new?sponsor=newcomer")
	p.Fill(field("name"), "Gala")
	p.Fill(field("budget"), "1000")
	p.Fill(field("packets"), "100")
	p.Press(fund)
	p.Says(".summary [role=alert]", "Nothing was created and no money moved")
	p.Until("the remedy is at hand", `document.activeElement.textContent === "Deposit ¥1,000.00"`)
	p.PressText("Deposit ¥1,000.00")
	p.Press("dialog .button.main")
	p.Says(".summary", "goes from ¥1,000.00 to ¥0.00")
	p.Until("the refusal is over", `!document.querySelector(".summary [role=alert]")?.textContent`)
	if !browsertest.Eval[bool](p, `(scrollTo(0, 9999), scrollY > 0)`) {
		t.Fatal("the form has no part that has to be scrolled to")
	}
	p.Press(fund)
	p.Until("the campaign is shown", `location.hash === "#/campaigns/c2" && document.querySelector(".tabs") !== null`)
	if down := browsertest.Eval[float64](p, `scrollY`); down != 0 {
		t.Errorf("its page begins %v px down", down)
	}
}

// TestConsoleHeadSaysWhatIsProved: of new books the live campaigns once each was proved, until everything has been; and
// what is wrong at once.
func TestConsoleHeadSaysWhatIsProved(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newForms(t, "operator")
	proof := func(campaign string, at, took int64, balanced bool) object {
		return object{"campaign": campaign, "proved_at": at, "took_ms": took, "balanced": balanced, "findings": 0,
			"difference": 0}
	}
	proved := func(oldest int64, campaigns ...object) {
		f.setAnswer("GET /reconciliation/proved", reply(http.StatusOK, object{"everything": proof("", 0, 0, false),
			"oldest": oldest, "stale": false, "campaigns": campaigns}))
	}
	at := f.now()
	proved(0, proof("c1", at, 3, true), proof("c2", 0, 0, false))
	p := f.openConsole(t, desk(), "#/sponsors")
	p.Says(".status", "The books were not proved yet")
	p.Until("nothing else is said of them", `document.querySelectorAll(".status a time, .status .bad").length === 0`)
	proved(at, proof("c1", at, 3, true), proof("c2", at, 2, true))
	p.Go("/console?all#/sponsors")
	p.Says(".status", "✓ The books of the live campaigns balance, proved last")
	proved(at, proof("c1", at, 3, true), proof("c2", at, 2, false))
	p.Go("/console?again#/sponsors")
	p.Says(".status .bad", "✗ The books do not balance, proved last")
}

// TestConsoleHeadSaysThatNobodyAnswers: an earlier proof is not what is true now.
func TestConsoleHeadSaysThatNobodyAnswers(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newForms(t, "operator")
	p := f.openConsole(t, desk(), "#/sponsors")
	p.Says(".status", "Books balance")
	f.setAnswer("GET /reconciliation/proved", reply(http.StatusServiceUnavailable,
		object{"status": 503, "code": "unavailable", "title": "Service Unavailable"}))
	p.Says(".status .bad", "The server does not answer; this is from before:")
	p.Forgive()
}

// TestConsoleNamesAnAddressForPhones: who has opened the console as localhost is not told to send that to a phone.
func TestConsoleNamesAnAddressForPhones(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newForms(t, "operator")
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"join": "http://192.0.2.7:8080/", "guests": true}))
	p := f.openConsole(t, desk(), "#/first/c1")
	p.Says("main", "http://192.0.2.7:8080/?campaign=c1")
	p.Until("the way on is shown", `document.querySelector('main a[href="#/new"]') !== null && `+
		`document.querySelector('main a[href="/screen?campaign=c1"]') !== null`)
	p.Go("/console?details#/campaigns/c1/details")
	p.Says("main", "http://192.0.2.7:8080/?campaign=c1")
	p.Says("main", "http://192.0.2.7:8080/screen?campaign=c1")
}
