package web_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/internal/testkit/browser/browsertest"
)

// offers are the pages of the console, each with an element that is drawn together with its buttons, and the roles that
// may use those. A person with other rights finds the buttons with the right that they need; a viewer does not find
// them. "all" is for viewers too. New seals, rebuilds and exports of whole campaigns have no buttons: they are for the
// command line.
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

// TestConsoleOffersWhatOneMay: each role finds buttons for its rights. The other buttons name the right that they need;
// a viewer does not find them. The rights are the server's own answer.
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

// buttonNamed is a script that finds a button by its text.
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

// TestFaultsAreTranslated: the console has words of its own, in both languages, for each code that a refusal can have,
// and for no other. docs/build/api.md lists them all.
func TestFaultsAreTranslated(t *testing.T) {
	listed := codesIn(t, "../docs/build/api.md", "(?m)^\\| `([a-z_]+)` \\| [0-9]")
	said := codesIn(t, "src/console/strings/faults.ts", `(?m)^  ([a-z_]+): \{ zh: ".+", en: ".+" \},$`)
	wantSame(t, "fault", said, listed)
	if len(listed) < 40 {
		t.Errorf("%d codes are listed", len(listed))
	}
}

// TestSentencesAreTheServers: each sentence that the console translates is one that the server's sources say, whole.
func TestSentencesAreTheServers(t *testing.T) {
	said := map[string]bool{}
	eachSource(t, func(path string) { collectSentences(t, path, said) }, "../payout", "../rain", "../server/api")
	text := testenv.Got(os.ReadFile("src/console/strings/server.ts")).Must(t)
	translated := regexp.MustCompile(`(?m)^  \["(.+)", "(.+)"\],$`).FindAllStringSubmatch(string(text), -1)
	if len(translated) < 50 {
		t.Errorf("%d sentences are translated", len(translated))
	}
	slot, place := regexp.MustCompile(`\{\d[:*>#]?\}`), regexp.MustCompile(`\{\d\}`)
	for _, s := range translated {
		if !said[slot.ReplaceAllString(s[1], "{}")] {
			t.Errorf("the server never says %q", s[1])
		}
		testenv.Equal(t, len(place.FindAllString(s[2], -1)), len(slot.FindAllString(s[1], -1)),
			"parts of the translation of %q", s[1])
	}
}

// collectSentences adds the strings of a source. It joins strings that are cut over lines or around a value, and writes
// {} for the value.
func collectSentences(t *testing.T, path string, said map[string]bool) {
	t.Helper()
	text := testenv.Got(os.ReadFile(path)).Must(t)
	source := regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(string(text), "")
	source = regexp.MustCompile(`"\s*\+\s*[\w.()]+\s*\+\s*"`).ReplaceAllString(source, "{}")
	source = regexp.MustCompile(`%[a-z]`).ReplaceAllString(source, "{}")
	for _, tag := range regexp.MustCompile(`zero:"([^"]+)"`).FindAllStringSubmatch(source, -1) { // of rain's settings
		said["is 0 ("+tag[1]+") to {}"] = true
	}
	for _, s := range regexp.MustCompile(`(\) ?\+ ?)?"([^"\n]+)"( ?\+ ?[a-zA-Z])?`).FindAllStringSubmatch(source, -1) {
		sentence := s[2]
		if s[1] != "" {
			sentence = "{}" + sentence
		}
		if s[3] != "" {
			sentence += "{}"
		}
		said[sentence] = true
	}
}

// TestAlarmsAreTranslated: the console has a name, in both languages, for each alarm that the server raises. It has a
// Chinese explanation too, because the server's own words are English.
func TestAlarmsAreTranslated(t *testing.T) {
	said := codesIn(t, "src/console/strings/status.ts", `(?m)^  code_([a-z_]+): \{ zh: ".+", en: ".+" \},$`)
	meant := codesIn(t, "src/console/strings/status.ts", `(?m)^  say_([a-z_]+): \{ zh: ".+", en: "" \},$`)
	raised := map[string]bool{}
	eachSource(t, func(path string) {
		maps.Copy(raised, codesIn(t, path, `(?i)(?:\b(?:alarm|condition)\(|\bcode[a-z]+ += )"([a-z_]+)"`))
	}, "../server", "../payout")
	wantSame(t, "alarm", said, raised)
	wantSame(t, "meaning of the alarm", meant, said)
	if len(raised) < 15 {
		t.Errorf("%d alarms are raised", len(raised))
	}
}

// eachSource calls do for the Go files of some folders that are no tests.
func eachSource(t *testing.T, do func(path string), trees ...string) {
	t.Helper()
	for _, tree := range trees {
		testenv.Must(t, filepath.WalkDir(tree, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				do(path)
			}
			return err
		}))
	}
}

// wantSame wants the console to have words for each code that there is, and for no other.
func wantSame(t *testing.T, of string, said, is map[string]bool) {
	t.Helper()
	for code := range is {
		if !said[code] {
			t.Errorf("the console has no words for the %s %s", of, code)
		}
	}
	for code := range said {
		if !is[code] {
			t.Errorf("the console has words for the %s %s, and there is none", of, code)
		}
	}
}

func codesIn(t *testing.T, file, pattern string) map[string]bool {
	t.Helper()
	text := testenv.Got(os.ReadFile(file)).Must(t)
	codes := map[string]bool{}
	for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		codes[string(found[1])] = true
	}
	return codes
}

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
