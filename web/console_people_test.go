package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/server/api"
)

// person is somebody with a role, as the server's own /whoami tells of them: the fake has no rights of its own.
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

// signIn says who has which token; any other is nobody's.
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

// TestConsoleKeepsWhatWasTyped: a token ends in the middle of a deposit. Who has it signs in again over the dialog,
// which is as it was; somebody else finds nothing of it.
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

	// Somebody else, over what ann has begun.
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
