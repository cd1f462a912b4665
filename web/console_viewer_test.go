package web_test

import (
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser/browsertest"
)

// TestConsoleCommandsKeepTheToken: commands are for this server and the chosen campaign, and the token is in none.
func TestConsoleCommandsKeepTheToken(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	o := desk()
	o.Scripts = []string{`window.copied = []; Object.defineProperty(navigator, "clipboard", { value: { ` +
		`writeText: async (text) => void copied.push(text) } });`}
	p := f.openConsole(t, o, "#/api")
	p.Press(`[aria-label="Copy: Start a rain in three seconds"]`)
	p.Until("it is copied", `copied.length === 1`)
	want := "curl -sS -X POST \\\n  -H \"Authorization: Bearer $TOKEN\" \\\n  " +
		"-H \"Idempotency-Key: $(date +%s)\" \\\n  -H 'Content-Type: application/json' \\\n" +
		"  -d '{\"starts_in_ms\":3000,\"duration_ms\":10000,\"drops_per_second\":8}' \\\n  " + f.URL +
		"/api/v1/campaigns/c1/rains"
	if got := browsertest.Eval[string](p, `copied[0]`); got != want {
		t.Errorf("copied\n%s\nwant\n%s", got, want)
	}
	if browsertest.Eval[bool](p, `document.documentElement.outerHTML.includes(%q)`, operatorSecret) {
		t.Error("the token is in the page")
	}
}

// TestConsoleAuditIsSearched: among the records that are loaded.
func TestConsoleAuditIsSearched(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	p := f.openConsole(t, desk(), "#/audit")
	p.Says("tbody", "campaign.create")
	p.Says("tbody", "amount: ¥25,000.00")
	p.Until("a nested amount", `document.querySelector("tbody pre").textContent.includes('"budget": "¥10,000.00"')`)
	p.Fill(`.audit [name="search"]`, "invoice 17")
	p.Says(".audit", "1 of 3 loaded")
	p.Until("one row", `document.querySelectorAll("tbody tr").length === 1`)
	p.Fill(`.audit [name="search"]`, "nobody did this")
	p.Says(".audit", "No match in the loaded records")
}
