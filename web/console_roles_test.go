package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/internal/testkit/browser/browsertest"
)

// offers are the pages of the console, with what is drawn together with their buttons, and which roles may use those.
// Who may change something else finds them with the right that they take, and a viewer does not find them. "all" is for
// viewers too. New seals, rebuilds and exports of whole campaigns have no buttons: they are for the command line.
var offers = map[string]struct {
	shown   string
	buttons map[string]string
}{
	"campaigns": {".side li", map[string]string{"New": "operator admin"}},
	"campaigns/c1": {".head h1", map[string]string{"Stop the rain…": "operator admin", "Pause…": "operator admin",
		"Close…": "operator admin"}},
	"campaigns/c1/claims": {"tbody tr", map[string]string{"Download CSV": "all"}},
	"sponsors":            {"tbody tr", map[string]string{"Deposit": "cashier admin"}},
	"payouts": {"tbody tr", map[string]string{"Retry": "cashier admin", "Retry all": "cashier admin",
		"Dismiss": "cashier admin"}},
	"withdrawals/w1": {".details", map[string]string{"Release…": "cashier admin"}},
	"approvals":      {"tbody tr", map[string]string{"Confirm…": "cashier admin", "Reject…": "cashier admin"}},
	"lists":          {"tbody tr", map[string]string{"New list…": "operator admin"}},
	"lists/vip":      {"#members", map[string]string{"Import CSV…": "operator admin"}},
	"users/u1":       {".details", map[string]string{"Ban…": "operator admin", "Disconnect…": "operator admin"}},
	"users/u2":       {".details", map[string]string{"Unban…": "operator admin"}},
	"risk": {"tbody tr", map[string]string{"Release…": "cashier admin",
		"Forfeit…": "cashier admin"}},
}

// everything has something for each button of offers.
func everything(t *testing.T) *formsServer {
	t.Helper()
	f := newForms(t, "")
	get := func(path string, answer any) { f.serve("GET "+path, always(answer)) }
	f.letters = []object{f.letter("c1-7", "pay", "u1", 88, "closed")}
	f.waiting(f.order("a1", "deposit", "acme", "bob", 5_000_000))
	get("/withdrawals/w1", f.withdrawal("pending", object{"withdrawal": "w1", "stage": "held"}))
	get("/campaigns/c1", f.readyCampaign("c1", object{"state": "raining",
		"rains": []object{f.rainFrom(f.now()-3_000, "falling")}}))
	vip := object{"list": "vip", "of": "players", "purpose": "invite", "members": 0, "created_at": f.now(),
		"changed_at": f.now(), "changed_by": "ann"}
	get("/lists", object{"items": []object{vip}})
	get("/lists/vip", vip)
	get("/lists/vip/members", object{"items": []object{}})
	get("/users/u2", object{"user": "u2", "balance": 0, "banned": true})
	get("/users/u2/claims", object{"items": []object{}})
	get("/users/u2/withdrawals", object{"items": []object{}})
	get("/risk/held", object{"items": []object{{"claim": "c1-9", "campaign": "c1", "user": "u1", "packet": "9",
		"amount": 88, "at": f.now(), "held_at": f.now(), "verdict": "hold", "score": 70, "reasons": []object{},
		"state": "held"}}})
	return f
}

// TestConsoleOffersWhatOneMay: each role finds buttons for what it may do, and of the others which right they take; a
// viewer finds none. What each role may do is what the server says of it.
func TestConsoleOffersWhatOneMay(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for _, role := range []auth.Role{auth.RoleViewer, auth.RoleOperator, auth.RoleCashier, auth.RoleAdmin} {
		t.Run(string(role), func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			f := everything(t)
			f.signIn(map[string]object{operatorSecret: f.person("ann", role)})
			p := f.openConsole(t, desk(), "")
			p.Says("header", "ann "+string(role))
			for place, page := range offers {
				p.Go("/console?" + strings.ReplaceAll(place, "/", "-") + "#/" + place)
				denied := ""
				for button, may := range page.buttons {
					want := "offered"
					switch {
					case may == "all" || slices.Contains(strings.Fields(may), string(role)):
					case role == auth.RoleViewer:
						want = "absent"
					default:
						want, denied = "denied", button
					}
					wantsButton(p, page.shown, button, place, want)
				}
				if denied != "" {
					p.Axe(string(role) + " on " + place)
					browsertest.Eval[any](p, fmt.Sprintf(`(%s)(%q).click()`, buttonNamed, denied))
					p.Says(".toast.bad", "You need the")
					p.Until("no dialog", `!document.querySelector("dialog")`)
				}
			}
		})
	}
}

// buttonNamed is a script that finds a button by what stands on it.
const buttonNamed = `(text) => [...document.querySelectorAll(".button")].find((b) => b.textContent === text)`

// wantsButton waits until shown is there, and a button is offered, denied or absent.
func wantsButton(p *browsertest.Page, shown, button, place, want string) {
	p.T.Helper()
	p.Until(fmt.Sprintf("%s is %s on %s", button, want, place), `(() => {
		const b = (%s)(%q);
		return document.querySelector(%q) !== null &&
			(!b ? "absent" : b.ariaDisabled === "true" ? "denied" : "offered") === %q;
	})()`, buttonNamed, button, shown, want)
}
