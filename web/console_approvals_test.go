package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// order is something that one person has asked for.
func (f *formsServer) order(id, action, target, by string, amount int64) object {
	return object{"approval": id, "action": action, "target": target, "amount": amount, "reference": "bank 17",
		"reason": "seen in the books", "asked_by": by, "asked_at": f.now() - 60_000,
		"expires_at": f.now() + 86_340_000, "state": "pending"}
}

// waiting serves orders, and lets them be decided.
func (f *formsServer) waiting(orders ...object) {
	f.serve("GET /approvals", func(r *http.Request, _ []byte) (int, any) {
		state := r.URL.Query().Get("state")
		return http.StatusOK, object{"items": slices.DeleteFunc(slices.Clone(orders), func(o object) bool {
			return state != "" && o["state"] != state
		})}
	})
	for _, o := range orders {
		for decision, state := range map[string]string{"confirm": "confirmed", "reject": "rejected"} {
			f.serve("POST /approvals/"+o["approval"].(string)+"/"+decision, func(*http.Request, []byte) (int, any) {
				o["state"], o["decided_by"] = state, "ann"
				return http.StatusOK, o
			})
		}
	}
}

// TestConsoleApprovals: what waits is counted in the head, and is confirmed or rejected by another person; why not
// is said in the reader's words.
func TestConsoleApprovals(t *testing.T) {
	looks{
		{Device: phoneDevice, Language: "zh-CN,zh",
			Dark: true},
		desk(),
	}.OnEach(t, func(t *testing.T, o chromium.Options) {
		f := newForms(t, "")
		f.signIn(map[string]object{operatorSecret: f.cashier("ann")})
		f.waiting(f.order("a1", "deposit", "acme", "bob", 5_000_000),
			f.order("a2", "payout.dismiss", "c1-7", "ann", 88),
			f.order("a3", "withdrawal.back", "w9", "bob", 88_800),
			f.order("a4", "provider", "http:bank.example", "bob", 0))
		f.serve("GET /withdrawals/w9", func(*http.Request, []byte) (int, any) {
			return http.StatusOK, f.withdrawal("pending",
				object{"withdrawal": "w9", "receiver": "http:bank.example:shop7"})
		})
		p := f.openConsole(t, o, "#/approvals")
		p.Says(".pages .count", "4")
		p.Until("four orders", `document.querySelectorAll("tbody tr").length === 4`)
		p.State("pending")
		p.NoWider("pending")
		testenv.Equal(t, browsertest.Eval[int](p, `document.querySelectorAll("tbody .button.main").length`), 3,
			"orders that can be confirmed; one of four is ann's own")
		in := map[bool]func(zh, en string) string{true: func(zh, _ string) string { return zh },
			false: func(_, en string) string { return en }}[strings.HasPrefix(o.Language, "zh")]
		press := func(row int, kind string) {
			p.Press(fmt.Sprintf("tbody tr:nth-child(%d) .button%s", row, kind))
		}
		f.refuseOnce("POST /approvals/a1/confirm", object{"status": 409, "code": "changed_meanwhile"})
		press(1, ".main")
		p.Says("dialog", "¥50,000.00")
		p.State("deposit")
		p.Press("dialog [type=submit]")
		p.Says("dialog [role=alert]", in("情况已变化", "has changed since"))
		p.PressTwice("dialog [type=submit]")
		p.Says(".toasts", in("已执行", "done."))
		p.Says(".pages .count", "3")
		press(2, ".main")
		p.Says("dialog", "http:bank.example:shop7")
		p.Type("\x1b")
		p.Until("no dialog", `!document.querySelector("dialog")`)
		press(2, ":not(.main)")
		p.Press("dialog [type=submit]")
		p.Says("dialog .fault", in("请填写", "Required."))
		p.Fill("dialog [name=reason]", "ask the bank first")
		p.Press("dialog [type=submit]")
		p.Says(".toasts", in("已驳回", "rejected."))
		p.Says(".pages .count", "2")
		p.Until("two orders", `document.querySelectorAll("tbody tr").length === 2`)
		press(2, ".main") // another receiver, which moves no money yet
		p.Press("dialog [type=submit]")
		p.Says(".toasts", in("更换支付方：已执行。", "Change the payout provider: done."))
		p.Says(".pages .count", "1")
		for path, want := range map[string]string{"/approvals/a1/confirm": `{"reason":""}`,
			"/approvals/a3/reject": `{"reason":"ask the bank first"}`} {
			posts := f.posted(path)
			if len(posts) == 0 || posts[len(posts)-1].body != want || len(posts) > 2 {
				t.Errorf("%s: %+v", path, posts)
			}
		}
	})
}

// TestConsoleSaysWhatWaits: a deposit and the retry of a letter that need two people are asked for, and nothing is
// said to be done.
func TestConsoleSaysWhatWaits(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "")
	f.signIn(map[string]object{operatorSecret: f.cashier("ann")})
	asked := []object{}
	f.serve("GET /approvals", func(*http.Request, []byte) (int, any) { return http.StatusOK, object{"items": asked} })
	f.letters = []object{f.letter("c1-7", "pay", "u1", 88, "closed")}
	f.serve("POST /sponsors/acme/deposits", func(*http.Request, []byte) (int, any) {
		asked = append(asked, f.order("a1", "deposit", "acme", "ann", 5_000_000))
		return http.StatusAccepted, asked[0]
	})
	f.serve("POST /payouts/c1-7/retry", func(*http.Request, []byte) (int, any) {
		return http.StatusAccepted, f.order("a2", "payout.retry", "c1-7", "ann", 88)
	})
	p := f.openConsole(t, desk(), "#/sponsors")
	p.Press(`[aria-label="Deposit: acme"]`)
	p.Fill(`dialog [name="amount"]`, "50000")
	p.Press("dialog .button.main")
	p.Says(".toasts", "Requested: ¥50,000.00. A second person must confirm it by")
	p.Says("tbody", "¥25,000.00") // what acme has is as before
	p.Says(".pages .count", "1")
	browsertest.Eval[bool](p, `(location.hash = "#/payouts", true)`)
	p.Press(`[aria-label="Retry: c1-7"]`)
	p.Press("dialog .button.main")
	p.Says(".toasts", "Requested: ¥0.88.")
	p.Says(".total", "1 payment")
}
