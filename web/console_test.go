package web_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/rain"
	"redrain/web/bundle"
)

// consoleTests is the tests of the console's modules, with the modules in them.
var consoleTests = sync.OnceValues(func() ([]byte, error) { return bundle.Script(".", "testdata/console.ts") })

// TestConsoleModules runs web/testdata/console.ts.
func TestConsoleModules(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newFake(t)
	p := browsertest.Open(t, chromium.Options{Home: f.URL})
	p.Go("/console")
	const run = `import("/testdata/console.js").then((m) => m.run())`
	testenv.Equal(t, browsertest.Eval[[]string](p, run), nil, "faults")
	first := browsertest.Eval[rain.RainSpec](p, `import("/testdata/console.js").then((m) => m.firstRain())`)
	want := rain.DefaultRain()
	want.StartsInMS = new(int64(10_000)) // time to look from the console to the players
	testenv.Equal(t, cmp.Diff(want, first), "", "the form's defaults are not the API's (-want +got)")
}

// TestConsoleSignIn: a link with a token signs in, opened or pasted, and the token leaves the address. A token in a
// query does not sign in. A viewer finds no buttons. A link with an unknown token does not end a session.
func TestConsoleSignIn(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newConsole(t)
	p := browsertest.Open(t, chromium.Options{Home: f.URL}, chromium.Network)
	paste := func(hash string) { browsertest.Eval[bool](p, `(location.hash = %q, true)`, hash) }
	p.Go("/console?token=op#/campaigns/c1")
	p.Says("h1", "Sign in")
	p.Until("the address is clean", `location.href === %q`, f.URL+"/console#/campaigns/c1")
	paste("token=wrong")
	p.Says("[role=alert]", "Invalid token.")
	p.State("wrong")
	paste("#token=op")
	p.Says("h1", "Gala 2026")
	if got := browsertest.Eval[string](p, `location.href`); strings.Contains(got, "token") {
		t.Errorf("the address is %s", got)
	}
	paste("token=wrong")
	p.Says(".toast.bad", "Invalid token.")
	p.Says("h1", "Gala 2026")
	p.PressText("Sign out")
	p.Says("h1", "Sign in")
	if kept := browsertest.Eval[bool](p, `sessionStorage.getItem("redrain.operator") !== null`); kept {
		t.Error("the token is still there after the sign-out")
	}
	p.Fill("[name=token]", " "+f.URL+"/console#token=view ")
	p.PressText("Sign in")
	p.Says("h1", "Gala 2026")
	p.Says("header", "View only")
	for _, acts := range []string{"Start a rain…", "Pause…", "Close…", "New"} {
		if browsertest.Eval[bool](p,
			`[...document.querySelectorAll("button, a")].some((b) => b.innerText.trim() === %q)`, acts) {
			t.Errorf("a viewer is offered %q", acts)
		}
	}
	p.State("viewer")

	// The session of a token that the server forgets ends, with words.
	f.setAnswer("GET /campaigns", reply(http.StatusUnauthorized, object{"status": 401, "code": "unauthorized"}))
	p.Says("[role=alert]", "The token is no longer valid.")
	f.setAnswer("GET /whoami", reply(http.StatusServiceUnavailable,
		object{"status": 503, "code": "unavailable", "title": "redis does not answer"}))
	p.Fill("[name=token]", "op")
	p.Type("\r")
	p.Says("[role=alert]", "Temporarily unavailable (redis does not answer).")
}

// figure is the text of a figure of the live view.
func figure(p *browsertest.Page, name string) string {
	return browsertest.Eval[string](p, `document.querySelector("[data-stat=%s] b")?.textContent ?? ""`, name)
}

func TestConsoleLive(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newConsole(t)
	p := f.open(t, chromium.Options{Device: deskDevice})
	for name, want := range map[string]string{
		"won": "1,180", "amount_left": "¥7,638.80", "grabs_per_second": "93", "outcome-empty": "50",
		"outcome-late": "20", "online": "300", "paid": "1,176",
		"tap_p50_ms": "1.8 ms", "tap_p99_ms": "6.4 ms", "outbox": "4", "dead": "0",
	} {
		testenv.Eventually(t, patience, name+" is "+want, func() bool { return figure(p, name) == want })
	}
	p.Until("six charts", `document.querySelectorAll(".chart canvas").length === 6`)
	p.Until("a chart in words",
		`document.querySelector(".plot").getAttribute("aria-label").startsWith("Grabs per second: now 93")`)
	p.Until("a chart that is drawn", `(() => {
		const c = document.querySelector(".chart canvas");
		const k = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		k.drawImage(c, 0, 0);
		const d = k.getImageData(0, 0, c.width, c.height).data;
		return d.some((v, i) => i % 4 === 3 && v > 0 && d[i - 3] > 150 && d[i - 2] < 80);
	})()`)

	// There is no queue in a room without a limit; otherwise the server reports its length.
	testenv.Equal(t, figure(p, "waiting"), "", "who waits for a room without a limit")
	f.set(func() { f.stats["waiting"], f.stats["seated"] = 1234, 500 })
	p.Says("[data-stat=waiting]", "In the queue")
	p.Says("[data-stat=waiting]", "1,234")
	p.Says("[data-stat=waiting]", "500 admitted")

	// A field that the server does not know leaves a dash.
	f.set(func() { f.stats = object{"campaign": "c1", "online": 301, "won": 1181, "tap_p50_ms": nil} })
	testenv.Eventually(t, patience, "dashes", func() bool {
		return figure(p, "online") == "301" && figure(p, "tap_p50_ms") == "–" && figure(p, "outbox") == "–" &&
			figure(p, "outcome-late") == "–"
	})

	// Figures of another campaign are not shown for this one.
	f.set(func() { f.mute = true })
	f.say("stats", object{"campaign": "c2", "online": 7})
	f.say("alarm", object{"code": "void_win", "campaign": "c1", "message": "a win was void"})
	p.Says(".alarm", "a win was void")
	p.Says(".alarm", "Void win")
	p.State("alarm")
	testenv.Equal(t, figure(p, "online"), "301", "another campaign's figures are shown: online")
	p.Press(".alarm button")
	p.Until("the alarm is gone", `!document.querySelector(".alarm")`)

	p.PressText("中文")
	p.Says("nav", "审计日志")
	p.Says(".controls", "开始红包雨…")
	testenv.Equal(t, browsertest.Eval[string](p, `document.documentElement.lang`), "zh-CN", "the page's language is")
}

func TestConsoleSaysWhenItIsStale(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	p.Until("fresh figures", `document.querySelector(".age.fresh") !== null`)

	f.set(func() { f.mute = true })
	p.Says(".age.stale", "no updates from the server")
	f.hangUpFeeds()
	p.Says(".age.stale", "reconnecting…")
	p.State("stale")
	color := browsertest.Eval[[]string](p, `[getComputedStyle(document.querySelector(".age")).color, `+
		`getComputedStyle(document.querySelector(".age .dot")).backgroundColor]`)
	if color[0] != color[1] || color[0] != "rgb(179, 32, 42)" {
		t.Errorf("stale figures are in %v, not in red", color)
	}
	f.set(func() { f.down, f.mute, f.stats["online"] = false, false, 302 })
	p.Until("fresh again", `document.querySelector(".age.fresh") !== null`)
	testenv.Eventually(t, patience, "new figures", func() bool { return figure(p, "online") == "302" })
}

// TestConsoleStates looks at the states that the other tests skip, on a phone, a desk and a wall, in both languages.
func TestConsoleStates(t *testing.T) {
	browsertest.Few(looks{
		{Device: phoneDevice, Language: "zh-CN,zh"},
		{Device: smallDevice, Language: "en-US,en",
			Dark: true},
		{Device: deskDevice, Language: "en-US,en"},
		{Device: chromium.Wall, Language: "zh-CN,zh", Dark: true},
	}).OnEach(t, func(t *testing.T, o chromium.Options) {
		f := newConsole(t)
		p := f.open(t, o)
		p.Until("figures", `document.querySelector("[data-stat=won] b")?.textContent === "1,180"`)
		lookAt(p, "campaigns/c1", ".age.fresh")
		lookAt(p, "campaigns", ".side li")
		lookAt(p, "campaigns/c1/rains", ".empty")
		lookAt(p, "campaigns/c1/details", ".details")
		lookAt(p, "campaigns/unknown", ".faultbox")
		lookAt(p, "nowhere", ".empty")
		f.set(func() { f.campaign["rains"] = []object{f.rainFrom(f.now()-100_000, "ended")} })
		lookAt(p, "campaigns/c1/rains/", "tbody tr")
		p.Press("tbody td:last-child button")
		p.Until("the proof", `document.querySelector("dialog")?.textContent.includes("efef") === true`)
		p.State("fairness")
	})
}

// TestConsoleLeavesNothingBehind: an operator's tab stays open for days, and no round through it may leave anything
// behind. Preact keeps the last full render of a page until the next one. It may hold one closed dialog, but
// not more of them. So the test counts after a full render without a dialog.
func TestConsoleLeavesNothingBehind(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	show := func(tab, there string) {
		t.Helper()
		browsertest.Eval[any](p, `void (location.hash = "#/campaigns/c1/%s")`, tab)
		p.Until(tab, "%s", there)
	}
	const details, rains = `!!document.querySelector(".details")`, `!!document.querySelector(".empty")`
	round := func() {
		t.Helper()
		show("details", details)
		show("rains", rains)
		show("live", `document.querySelectorAll(".chart canvas").length === 6`)
		p.PressText("Start a rain…")
		p.Until("a dialog", `!!document.querySelector("dialog [name=duration_ms]")`)
		p.Type("\x1b")
		p.Until("no dialog", `!document.querySelector("dialog")`)
	}
	held := func() chromium.Holdings {
		t.Helper()
		show("rains", rains)
		show("details", details)
		return p.Holdings()
	}
	for range 3 {
		round()
	}
	before := held()
	for range 10 {
		round()
	}
	testenv.Eventually(t, patience, "the page holds no more than before", func() bool {
		after := held()
		t.Logf("before %+v, after %+v", before, after)
		return after.Listeners <= before.Listeners+5 && after.Nodes <= before.Nodes+100
	})
}
