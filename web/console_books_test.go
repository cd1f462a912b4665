package web_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser/browsertest"
)

// TestConsoleReconciles: a check shows its progress and can be stopped. A difference is red, with the rows that are
// wrong. Another check that is running is named.
func TestConsoleReconciles(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	hang, gone := make(chan struct{}), make(chan struct{})
	f.answer["GET /reconciliation/full"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		lines := json.NewEncoder(w)
		_ = lines.Encode(object{"progress": object{"part": "the accounts", "done": 41_000, "of": 98_000, "rate": 20_500,
			"left_ms": 2_780}})
		_ = http.NewResponseController(w).Flush()
		select {
		case <-hang:
		case <-r.Context().Done():
			close(gone)
			return
		}
		_ = lines.Encode(object{"books": object{
			"balanced": false, "difference": 1, "checked": 12, "unbalanced": 1, "transactions": 40_211,
			"accounts": 9_120,
			"campaigns": []object{{
				"campaign": "c1", "funded": 1_000_000, "paid": 235_411, "reclaimed": 0, "stock": 763_880,
				"unsettled": 710, "dead": 0, "difference": -1, "balanced": false,
				"findings": []string{"payout of packet 7 (claim c1-7, player u1, amount 89, transaction 17): " +
					"the split says 88"},
			}},
			"unchecked":  []object{{"campaign": "c3", "reason": "redis does not answer"}},
			"findings":   []string{"the balance of user:u1 is 89, but its entries sum to 88"},
			"letters":    []string{},
			"checked_at": f.now(),
		}})
	}
	f.answer["GET /reconciliation/proved"] = reply(http.StatusOK, object{"everything": object{"proved_at": f.now(),
		"took_ms": 812, "balanced": true, "findings": 0, "difference": 0}, "oldest": f.now(), "stale": true,
		"campaigns": []object{}})
	impatient := desk()
	impatient.Scripts = []string{atOnce("Check")}
	p := f.openConsole(t, impatient, "#/reconciliation")
	p.Says(".books", "Last full check by the servers")
	p.Says(".books .bad", "too long ago")
	p.Says(".books", "Checking…")
	p.Says(".books", "41,000 of about 98,000 rows read")
	p.State("checking")
	p.PressText("Stop")
	p.Says(".verdict", "Stopped.")
	<-gone
	close(hang)
	p.PressText("Check")
	p.Says(".verdict.bad", "Findings: 1 campaign does not balance, ¥0.01 off.")
	p.Says(".findings", "the balance of user:u1 is 89")
	p.Says(".line", "¥10,000.00 ≠ ¥2,354.11 + ¥0.00 + ¥7,638.80 + ¥7.10 + ¥0.00")
	p.Says(".equation .bad", "-¥0.01")
	p.Says(".books", "redis does not answer")
	p.State("wrong")
	f.setAnswer("GET /reconciliation/full", reply(http.StatusConflict, object{"status": 409, "code": "proof_running"}))
	p.PressText("Check again")
	p.Says(".books", "Another full check is running.")
}

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
	testenv.Equal(t, browsertest.Eval[string](p, `copied[0]`), want, "copied")
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
