package web_test

import (
	"maps"
	"testing"

	chromium "redrain/internal/browser"
	"redrain/internal/testenv"
)

// A closed campaign's page shows the money that the ledger has given back: the page works out none
// from the budget, of which a server may have forgotten what was won.
func TestConsoleShowsWhatTheLedgerGaveBack(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	f.campaign["state"] = "closed"
	maps.Copy(f.stats, object{"won": 1176, "amount_won": 235410, "amount_paid": 235410, "stock": 0, "amount_left": 0,
		"amount_reclaimed": 763880, "outbox": 0})
	p := f.open(t, chromium.Options{})
	p.Says("[data-stat=amount_returned] b", "¥7,638.80")
	p.Says("[data-stat=outbox]", "¥0.00 won and not yet paid")
	f.set(func() { f.stats["amount_won"] = 0 }) // a server that has forgotten
	p.Says("[data-stat=amount_won] b", "¥0.00")
	p.Says("[data-stat=outbox]", "¥0.00 won and not yet paid")
	if got := figure(p, "amount_returned"); got != "¥7,638.80" {
		t.Errorf("returned is %s", got)
	}
}
