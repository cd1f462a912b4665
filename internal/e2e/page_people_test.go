package e2e

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/payout/withdraw/webhook/webhooktest"
)

// operatorsFile has a cashier for each name, and answers with their tokens.
func operatorsFile(t *testing.T, names ...string) (path string, tokens map[string]string) {
	t.Helper()
	tokens, rows := map[string]string{}, ""
	for _, name := range names {
		token, hash := auth.NewOperatorToken()
		tokens[name] = token
		rows += fmt.Sprintf("- {name: %s, role: cashier, sha256: %s}\n", name, hash)
	}
	path = filepath.Join(t.TempDir(), "operators.yaml")
	must(t, os.WriteFile(path, []byte(rows), 0o600))
	return path, tokens
}

// TestTwoPeopleEndAWithdrawalInTheConsole: one marks a letter as paid and finds that it waits; the other sees it in
// the head and confirms it, and only then is it paid. A shared token is neither of them.
func TestTwoPeopleEndAWithdrawalInTheConsole(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	receiver := webhooktest.New()
	receiver.Behave = func(webhooktest.Request) webhooktest.Behaviour { return webhooktest.Missing }
	bank := httptest.NewServer(receiver)
	t.Cleanup(bank.Close)
	cfg := setting{}.config()
	cfg.Provider, cfg.ProviderURL, cfg.ProviderSecret, cfg.PayoutAttempts = "http", bank.URL, webhooktest.Secret, 1
	var tokens map[string]string
	cfg.OperatorsFile, tokens = operatorsFile(t, "ann", "bob")
	n := startNode(t, cfg)
	earn(t, n, "lin")
	_, err := asPlayer(t, n, "lin").Withdraw(within(t, 20*time.Second), 400, "")
	must(t, err)
	dead := awaitWithdrawal(t, n, "lin", func(w client.Withdrawal) bool { return w.Dead })

	page := func(token string) *browsertest.Page {
		p := browsertest.Open(t, browser.Options{Home: n.url}, browser.Network)
		p.Go("/console#token=" + token)
		p.Until("signed in", `document.querySelector("header nav") !== null`)
		goTo(p, "#/withdrawals/"+dead.ID)
		p.Says("h1", "¥4.00 for lin")
		return p
	}
	ask := func(p *browsertest.Page) {
		p.PressText("Mark as paid…")
		p.Says("dialog", "has paid ¥4.00 to lin.")
		p.Fill("dialog [name=reference]", "bank 17")
		p.Fill("dialog [name=reason]", "the statement has it")
		p.PressTwice("dialog [type=submit]")
	}
	shared := page(operatorToken)
	ask(shared)
	shared.Says("dialog [role=alert]", "a shared token identifies neither.")

	ann := page(tokens["ann"])
	ann.Says("header", "ann")
	ask(ann)
	ann.Says(".waits", "Your request: a second person must confirm it")
	ann.Until("ann cannot confirm", `!document.querySelector(".waits .button.main")`)
	ann.State("ann")

	bob := page(tokens["bob"])
	bob.Says(".pages .count", "1")
	goTo(bob, "#/approvals")
	bob.Says("tbody", "Mark a withdrawal as paid")
	bob.State("approvals")
	if w := awaitWithdrawal(t, n, "lin", inState(client.WithdrawalPending)); w.Order == nil || w.Order.By != "ann" {
		t.Errorf("before bob has confirmed: %+v", w)
	}
	bob.Press("tbody .button.main")
	bob.Says("dialog", "has paid ¥4.00 to lin.")
	bob.Says("dialog", "the statement has it")
	bob.State("confirm")
	bob.PressTwice("dialog [type=submit]")
	bob.Says(".toasts", "Mark a withdrawal as paid · ¥4.00: done.")
	bob.Until("nothing waits", `!document.querySelector(".pages .count")`)
	if w := awaitWithdrawal(t, n, "lin", inState(client.WithdrawalPaid)); w.Reference != "bank 17" {
		t.Errorf("confirmed: %+v", w)
	}
	goTo(bob, "#/withdrawals/"+dead.ID)
	bob.Says("main", "marked as paid")
	ann.Says("h1", "paid") // without a click
}
