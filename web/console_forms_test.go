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
	"redrain/internal/wire"
	"redrain/rain"
)

// operatorSecret is the token that the console is signed in with.
const operatorSecret = "operator-secret-of-the-forms"

// openConsole opens a page of the console, signed in.
func (f *formsServer) openConsole(t *testing.T, o chromium.Options, place string) *browsertest.Page {
	t.Helper()
	o.Home = f.URL
	o.Scripts = append(o.Scripts, fmt.Sprintf(`sessionStorage.setItem("redrain.operator", %q)`, operatorSecret))
	p := browsertest.Open(t, o, chromium.Network)
	p.Go("/console" + place)
	return p
}

// looks are devices and languages.
type looks []chromium.Options

// OnEach runs a test on each of them.
func (l looks) OnEach(t *testing.T, test func(t *testing.T, o chromium.Options)) {
	t.Helper()
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for _, o := range l {
		name, _, _ := strings.Cut(o.Language, "-")
		t.Run(o.Device.Name+"-"+name, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			test(t, o)
		})
	}
}

// lookAt opens a place of the console, and looks at it when something is there.
func lookAt(p *browsertest.Page, place, there string) {
	p.T.Helper()
	p.Go("/console?" + place + "#/" + place) // another address, so that nothing of the page before is looked at
	p.Until(place, `document.querySelector(%q)?.checkVisibility() === true`, there)
	p.State(strings.ReplaceAll(place, "/", "-"))
	p.Named(place)
	p.NoWider(place)
}

// TestConsoleForms looks at every form and list, on a phone and on a desk, in both languages.
func TestConsoleForms(t *testing.T) {
	on := looks{
		{Device: phoneDevice, Language: "zh-CN,zh"},
		{Device: deskDevice, Language: "en-US,en", Dark: true},
	}
	if testenv.Covers(testenv.Nightly) { // the two above find most of the faults of these
		on = append(on,
			chromium.Options{Device: chromium.Device{Name: "phone", Width: 360, Height: 740, Scale: 1, Touch: true},
				Language: "en-US,en", Dark: true},
			chromium.Options{Device: deskDevice,
				Language: "zh-CN,zh"},
			chromium.Options{Device: chromium.Wall, Language: "en-US,en"})
	}
	on.OnEach(t, func(t *testing.T, o chromium.Options) {
		f := newForms(t, "operator")
		f.letters = []object{
			f.letter("c1-7", "pay", "u1", 88, "the player was banned when it was won"),
			f.letter("w5xq2o4n7h3k1m9ab", "withdrawal", "guest-7f3a91", 128_800,
				"given up after 5 tries: read tcp: i/o timeout"),
		}
		p := f.openConsole(t, o, "#/new?from=c1")
		p.Until("a preview", `document.querySelectorAll(".histogram rect").length > 5`)
		p.State("create")
		keep := map[bool]string{true: "留作对比", false: "Keep to compare"}[strings.HasPrefix(o.Language, "zh")]
		p.PressText(keep)
		choose(p, "[name=split]", "list")
		p.Fill(`[name="max"]`, "")
		p.Fill(`[name="amounts"]`, "88.88×3\n8.88×20\n0.99×120, 1.88, 3.88")
		p.Until("two previews", `document.querySelectorAll(".histogram").length === 2`)
		p.State("list")
		p.Press(".cuts")
		p.Shoot("compare")
		for place, there := range map[string]string{
			"sponsors": "tbody tr", "payouts": "tbody tr", "withdrawals": "tbody tr", "users": "tbody tr",
			"users/u1": "tbody tr", "audit": "tbody tr", "api": ".task", "reconciliation": ".empty",
			"campaigns/c1/claims": "tbody tr", "campaigns/c1/reconciliation": "tfoot",
		} {
			lookAt(p, place, there)
			if place == "users/u1" {
				p.Says(".details", "<b>小雨</b>")
			}
		}
	})
}

// The devices of the console's people.
var (
	phoneDevice = chromium.Device{Name: "phone", Width: 390, Height: 844, Scale: 1, Touch: true}
	smallDevice = chromium.Device{Name: "small", Width: 320, Height: 640, Scale: 1, Touch: true}
	deskDevice  = chromium.Device{Name: "desk", Width: 1280, Height: 900, Scale: 1}
)

// choose chooses an option of a select.
func choose(p *browsertest.Page, selector, value string) {
	p.T.Helper()
	browsertest.Eval[bool](p, `((of) => {
		of.value = %q;
		return of.dispatchEvent(new Event("change", { bubbles: true }));
	})(document.querySelector(%q))`, value, selector)
}

func desk() chromium.Options {
	return chromium.Options{Device: deskDevice}
}

// field is the selector of a field of the form.
func field(name string) string { return `.create [name="` + name + `"]` }

const fund = ".summary button"

// twice clicks a button twice before the page can draw anything in between.
func twice(p *browsertest.Page, selector string) {
	p.T.Helper()
	browsertest.Eval[bool](p, `((b) => (b.click(), b.click(), true))(document.querySelector(%q))`, selector)
}

// TestConsoleCreatesACampaign: the form itself offers a deposit of the missing money. Faults stand beside their fields
// while one types. A double click makes one campaign, as the form has it.
func TestConsoleCreatesACampaign(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newForms(t, "operator")
	p := f.openConsole(t, desk(), "#/new")
	for name, text := range map[string]string{"name": "Bob's 年会", "sponsor": "newcomer", "budget": "1,000",
		"packets": "200", "max": "4.99"} {
		p.Fill(field(name), text)
	}
	p.Says(".create .faulty .fault", "Too high: 200 packets of at most ¥4.99 hold ¥998.00")
	testenv.Equal(t, p.Text(".create .faulty label"), "Budget, ¥", "the fault stands beside")
	p.Shoot("fault")
	p.Fill(field("max"), "20")
	p.Says(".preview", "About 1 in")
	p.Says(".funds", "No deposits for this sponsor yet")
	p.Says(".funds", "¥1,000.00 short of the budget")
	f.refuseOnce("POST /campaigns", object{"status": 422, "code": "invalid", "title": "x",
		"errors": []object{{"field": "shards", "message": "is more than this server has"}}})
	p.Press(fund)
	p.Says(".faulty", "Server: is more than this server has")
	p.Fill(field("shards"), "2")
	p.Until("the fault has gone", `document.querySelector(".create .faulty") === null`)
	p.Press(fund)
	p.Says(".summary [role=alert]", "Nothing was created and no money moved")
	p.Until("the remedy is at hand", `document.activeElement.textContent === "Deposit ¥1,000.00"`)
	p.PressText("中文")
	p.Says(".summary [role=alert]", "资金未动用")
	p.PressText("English") // the typed text is still there, as the order below shows
	p.Says(".summary [role=alert]", "Nothing was created")

	p.PressText("Deposit ¥1,000.00")
	p.Until("the dialog is open", `document.querySelector("dialog[open]") !== null`)
	p.State("deposit")
	twice(p, "dialog .button.main")
	p.Says(".toasts", "¥1,000.00 deposited for newcomer. Balance: ¥1,000.00.")
	p.Says(".funds", "Balance ¥1,000.00")
	deposits := f.posted("/sponsors/newcomer/deposits")
	if len(deposits) != 1 || !strings.Contains(deposits[0].body, `"amount":100000,"reference":"console-`) {
		t.Errorf("a double click deposited %+v", deposits)
	}

	p.Says(".summary", "¥1,000.00 moves from newcomer into this campaign, in 200 packets.")
	p.Says(".summary", "from ¥1,000.00 to ¥0.00")
	p.Until("the refusal is over", `!document.querySelector(".summary [role=alert]")?.textContent`)
	for i, lost := range []object{
		{"status": 201, "id": "c2"}, // the line breaks while it comes
		{"status": 503, "code": "unavailable", "title": "Service Unavailable"},
	} {
		f.refuseOnce("POST /campaigns", lost)
		p.Press(fund)
		testenv.Eventually(t, patience, "an order", func() bool { return len(f.posted("/campaigns")) == i+3 })
		p.Says(".summary [role=alert]", "Pressing again is safe")
	}
	browsertest.Eval[bool](p, `(scrollTo(0, 9999), true)`)
	twice(p, fund)
	p.Until("the campaign is shown", `location.hash === "#/campaigns/c2" && document.querySelector(".tabs") !== null`)
	testenv.Equal(t, browsertest.Eval[float64](p, `scrollY`), 0, "its page begins so many px down")
	posts := f.posted("/campaigns")[2:]
	if len(posts) != 3 || posts[0] != posts[1] || posts[1] != posts[2] || len(posts[0].key) != 32 {
		t.Errorf("a lost answer and a double click sent %+v", posts)
	}
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Budget, spec.Packets, spec.Shards = "Bob's 年会", "newcomer", 100_000, 200, 2
	spec.Max = new(rain.Money(2_000))
	if got, want := posts[0].body, string(wire.Encode(spec)); got != want {
		t.Errorf("posted %s, want %s", got, want)
	}
}

// TestConsoleFormByKeyboard: a whole campaign, a list of amounts, without a mouse. A form with faults is not sent, and
// the focus goes to the first of them.
func TestConsoleFormByKeyboard(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	p := f.openConsole(t, desk(), "#/new")
	p.Press(fund)
	p.Says(".summary [role=status]", "4 fields need attention.")
	p.Until("the focus is on the name", `document.activeElement.name === "name"`)
	p.State("required")
	p.Type("Gala\tacme\t")
	p.Type("li") // the choice of a split that begins so
	p.Until("a list is asked for", `document.querySelector('[name="amounts"]') !== null`)
	p.Type("\t\t\t8.88*100, 66.60\t\r")
	p.Until("the campaign is shown", `location.hash === "#/campaigns/c2"`)
	posts := f.posted("/campaigns")
	if len(posts) != 1 || !strings.Contains(posts[0].body, `"budget":95460,"packets":101,"split":"list"`) {
		t.Errorf("posted %+v", posts)
	}
}

// TestConsoleFindsClaims: search, the next page, and the file: in memory or into a file that the person chooses.
func TestConsoleFindsClaims(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	o := desk()
	o.Scripts = []string{`
		delete window.showSaveFilePicker;
		const make = URL.createObjectURL;
		URL.createObjectURL = (blob) => {
			blob.text().then((text) => (window.saved = text));
			return make.call(URL, blob);
		};`}
	p := f.openConsole(t, o, "#/campaigns/c1/claims")
	p.Says(".more", "50 shown so far")
	p.PressText("Load more")
	p.Says(".more", "100 shown so far")
	p.Fill(`.claims [name="user"]`, "u5")
	p.Says(".more", "13 in all")
	p.Until("only u5", `[...document.querySelectorAll("tbody td:nth-child(2)")].every((td) => td.textContent === "u5")`)
	p.PressText("Download CSV")
	p.Says(".toasts", "claims-c1.csv: 13 rows")
	p.Until("the file is read", `window.saved !== undefined`)
	rows := strings.Split(strings.TrimSpace(browsertest.Eval[string](p, `window.saved`)), "\n")
	if len(rows) != 14 || rows[0] != "claim,user,packet,amount,at,state" ||
		!strings.HasPrefix(rows[13], "c1-1169,u5,1169,") {
		t.Errorf("the file has %d rows: %q", len(rows), rows)
	}
	p.Fill(`.claims [name="packet"]`, "4000")
	p.Says(".empty", "No claims match")
	p.PressText("Clear")
	p.Says(".more", "50 shown so far")

	browsertest.Eval[bool](p, `(window.showSaveFilePicker = async (options) => ({ createWritable: async () => {
		const parts = [];
		const show = (text) => (window.streamed = options.suggestedName + "\n" + text);
		return {
			write: async (b) => void parts.push(b),
			close: async () => void new Blob(parts).text().then(show),
			abort: async () => {},
		};
	} }), true)`)
	p.PressText("Download CSV")
	p.Says(".toasts", "claims-c1.csv: 1,180 rows")
	p.Until("the chosen file is read", `window.streamed !== undefined`)
	testenv.Equal(t, browsertest.Eval[int](p, `window.streamed.split("\n").length`), 1_183,
		"the chosen file has lines with its name, header and end")
}

// TestConsoleLetters retries and dismisses dead letters. The money is named before, and the result after. A withdrawal
// is not dismissed, and a dismissal has a reason.
func TestConsoleLetters(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	f.letters = []object{f.letter("c1-6", "forged", "thief", 77, "invalid seal"),
		f.letter("c1-7", "pay", "u1", 88, "closed"), f.letter("w9", "withdrawal", "u2", 128_800, "timeout"),
		f.letter("c1-8", "pay", "u3", 12, "closed")}
	f.serve("POST /payouts/w9/retry", func(*http.Request, []byte) (int, any) {
		f.letters = slices.Delete(f.letters, 1, 2)
		return http.StatusOK, object{"claim": "w9", "user": "u2", "packet": "", "amount": 128_800, "at": 1,
			"state": "failed"}
	})
	f.serve("POST /payouts/c1-6/dismiss", func(*http.Request, []byte) (int, any) {
		f.letters = f.letters[1:]
		return http.StatusOK, object{"claim": "c1-6", "dismissed": 1, "reclaimed": 77, "kept": []string{}}
	})
	f.refuseOnce("POST /payouts/c1-6/dismiss", object{"status": 409, "code": "not_dismissed", "title": "Conflict",
		"detail": "retry it"})
	p := f.openConsole(t, desk(), "#/payouts")
	p.Says(".total", "4 payments, ¥1,289.77")
	testenv.Equal(t, strings.Count(p.Text("main button"), "Dismiss"), 3, "the buttons are")
	p.Press(`[aria-label="Dismiss: c1-6"]`)
	p.Says("dialog", "invalid seal")
	p.Until("a reason is needed", `document.querySelector("dialog [type=submit]").disabled`)
	p.Fill("dialog input", "made by hand")
	p.State("dismiss")
	p.Press("dialog .button.danger")
	p.Says("dialog", "Not dismissed: retry it")
	p.Press("dialog .button.danger")
	p.Says(".toasts", "c1-6 dismissed; ¥0.77 returned to the sponsor.")
	p.Says(".total", "3 payments, ¥1,289.00")
	p.Press(`[aria-label="Retry: w9"]`)
	p.Says("dialog", "¥1,288.00 for u2.")
	p.State("one")
	twice(p, "dialog .button.main")
	p.Says(".toasts", "w9: retrying the withdrawal of ¥1,288.00.")
	p.Says(".total", "2 payments, ¥1.00")
	p.PressText("Retry all")
	p.Says("dialog", "2 payments, ¥1.00 in all.")
	p.Press("dialog .button.main")
	p.Says(".toasts", "2 retried: 2 no longer wait, 0 still fail.")
	p.Says(".empty", "No failed payments")
	for path, want := range map[string]int{"w9/retry": 1, "retry": 1, "c1-6/dismiss": 2} {
		posts := f.posted("/payouts/" + path)
		if len(posts) != want || want == 2 && posts[1].body != `{"letter":"c1-6","reason":"made by hand"}` {
			t.Errorf("%s was posted as %+v", path, posts)
		}
	}
}
