package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/server/api"
)

// person is the server's own answer of /whoami for a person with a role: the fake has no rights of its own.
func (f *formsServer) person(name string, role auth.Role) object {
	mux := http.NewServeMux()
	api.New(api.Options{Operators: holder{Name: name, ID: name, Roles: []auth.Role{role}}, Clock: f.now,
		Version: "test", Guests: true, Log: slog.New(slog.DiscardHandler)}).Mount(mux)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, api.Root+"/whoami", http.NoBody))
	var who object
	if err := json.Unmarshal(w.Body.Bytes(), &who); err != nil || who["name"] != name {
		panic(fmt.Sprintf("the server says %s, %v", w.Body, err))
	}
	return who
}

// holder is whom every token is of.
type holder auth.Operator

func (h holder) Operator(context.Context, string) (auth.Operator, error) {
	return auth.Operator(h), nil
}

func (f *formsServer) cashier(name string) object { return f.person(name, auth.RoleCashier) }

// signIn sets the person of each token; any other token is invalid.
func (f *formsServer) signIn(tokens map[string]object) {
	f.setAnswer("GET /whoami", func(w http.ResponseWriter, r *http.Request) {
		who := tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		if who == nil {
			reply(http.StatusUnauthorized, object{"status": 401, "code": "unauthorized"})(w, r)
			return
		}
		reply(http.StatusOK, who)(w, r)
	})
}

// TestConsoleKeepsWhatWasTyped: a token expires in the middle of a deposit. The same person signs in again over the
// dialog and finds it unchanged. Another person finds nothing of it.
func TestConsoleKeepsWhatWasTyped(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "")
	f.signIn(map[string]object{operatorSecret: f.cashier("ann")})
	p := f.openConsole(t, desk(), "#/sponsors")
	p.Says("header", "ann cashier")
	p.PressText("Deposit")
	for name, text := range map[string]string{"sponsor": "acme", "amount": "12.34", "reference": "bank 7"} {
		p.Fill(`dialog [name="`+name+`"]`, text)
	}
	f.signIn(map[string]object{"anns-new": f.cashier("ann"), "bobs": f.cashier("bob")})
	unknown := object{"status": 401, "code": "unauthorized"}
	f.refuseOnce("POST /sponsors/acme/deposits", unknown)
	p.Press("dialog .button.main")
	const again = `//dialog[.//h2="Sign in again"]`
	p.Says("dialog", "The token is no longer valid.")
	p.State("again")
	p.Type("\x1b") // neither Esc nor a wrong token ends the page
	p.Fill("dialog [name=token]", "wrong")
	p.Type("\r")
	p.Says("dialog", "Invalid token.")
	p.Fill("dialog [name=token]", "anns-new")
	p.Press(again + `//button[.="Sign in"]`)
	p.Until("the deposit is there again", `document.querySelectorAll("dialog").length === 1 && `+
		`document.querySelector("dialog [name=amount]").value === "12.34"`)
	p.Press("dialog .button.main")
	p.Says(".toasts", "¥12.34 deposited for acme")

	// Another person signs in over ann's form.
	p.PressText("Deposit")
	p.Fill(`dialog [name="sponsor"]`, "anns-secret")
	p.Fill(`dialog [name="amount"]`, "1")
	f.serve("POST /sponsors/anns-secret/deposits", func(*http.Request, []byte) (int, any) {
		return http.StatusUnauthorized, unknown
	})
	p.Press("dialog .button.main")
	p.Says("dialog", "For anyone else it starts empty.")
	p.Fill("dialog [name=token]", "bobs")
	p.Press(again + `//button[.="Sign in"]`)
	p.Says("header", "bob cashier")
	p.Until("nothing of ann's is left", `!document.querySelector("dialog") && `+
		`!document.body.innerHTML.includes("anns-")`)
}

// TestConsoleWithdrawal looks at one withdrawal in each state in which something can be done with it.
func TestConsoleWithdrawal(t *testing.T) {
	browsertest.Few(looks{
		{Device: phoneDevice, Language: "zh-CN,zh"},
		{Device: smallDevice, Language: "en-US,en"},
		{Device: deskDevice, Language: "en-US,en", Dark: true},
	}).OnEach(t, func(t *testing.T, o chromium.Options) {
		f := newForms(t, "")
		f.signIn(map[string]object{operatorSecret: f.cashier("ann")})
		order := func(by string) object {
			return object{"approval": "a1", "what": "paid", "by": by, "asked_at": f.now(),
				"reason": "the bank’s statement of today has it", "until": f.now() + 86_400_000}
		}
		history := []object{{"at": f.now() - 9_000, "stage": "requested", "actor": "player:u1"},
			{"at": f.now() - 8_000, "stage": "sent", "actor": "redrain",
				"reason": "sent to http:bank.example:shop7"},
			{"at": f.now() - 7_000, "stage": "held", "actor": "operator:bob", "reason": "held: tried again"}}
		for id, with := range map[string]object{
			"fresh": {"stage": "requested"},
			"held":  {"stage": "held"},
			"mine":  {"stage": "sent", "dead": true, "order": order("ann")},
			"bobs":  {"stage": "sent", "dead": true, "order": order("bob")},
			"paid":  {"stage": "paid", "state": "paid", "reference": "wx-20251121-0042"},
		} {
			w := f.withdrawal("pending", object{"withdrawal": id, "receiver": "http:bank.example:shop7",
				"last_error": "the provider gave no clear answer about the payment",
				"attempts":   10, "history": history})
			maps.Copy(w, with)
			f.serve("GET /withdrawals/"+id, always(w))
		}
		p := f.openConsole(t, o, "#/withdrawals")
		for id, buttons := range map[string][2]int{"fresh": {1, 0}, "held": {2, 0}, "mine": {1, 1}, "bobs": {1, 1},
			"paid": {0, 0}} {
			p.Go("/console?" + id + "#/withdrawals/" + id)
			p.Until(id, `document.querySelector("h1")?.checkVisibility() === true && `+
				`document.querySelectorAll("main header .button").length === %d && `+
				`document.querySelectorAll(".waits").length === %d`, buttons[0], buttons[1])
			p.State(id)
			p.NoWider(id)
			p.Says("main table", map[string]string{"zh": "已发给 http:bank.example:shop7",
				"en": "sent to http:bank.example:shop7"}[o.Language[:2]]) // the server's words
			p.Says("main table", map[string]string{"zh": "暂扣：tried again",
				"en": "held: tried again"}[o.Language[:2]]) // and bob's, which only look like the server's
			offered := browsertest.Eval[bool](p, `!!document.querySelector(".waits .button.main")`)
			testenv.Equal(t, offered, id == "bobs", "%s: a confirmation is offered", id)
		}
		for id, dialog := range map[string]string{"bobs": ".waits button", "held": "main header .button.danger"} {
			p.Go("/console?ask-" + id + "#/withdrawals/" + id)
			p.Until("a button", `document.querySelector(%q)?.checkVisibility() === true`, dialog)
			p.Press(dialog)
			p.Says("dialog", "¥888.00")
			p.State("ask-" + id)
		}
	})
}

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

// TestConsoleSaysWhatWaits: a deposit and the retry of a dead letter need two people. They are requested, and the page
// reports neither as done.
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
