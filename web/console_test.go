package web_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	chromium "redrain/internal/browser"
	"redrain/internal/browser/browsertest"
	"redrain/internal/testenv"
	"redrain/web/bundle"
)

// consoleTests is the tests of the console's modules, with the modules in them.
var consoleTests = sync.OnceValues(func() ([]byte, error) { return bundle.Script(".", "testdata/console.ts") })

// TestConsoleModules runs web/testdata/console.ts.
func TestConsoleModules(t *testing.T) {
	f := newFake(t)
	p := browsertest.Open(t, chromium.Options{Home: f.URL})
	p.Go("/console")
	for _, fault := range browsertest.Eval[[]string](p, `import("/testdata/console.js").then((m) => m.run())`) {
		t.Error(fault)
	}
}

func TestConsoleSignIn(t *testing.T) {
	f := newConsole(t)
	p := browsertest.Open(t, chromium.Options{Home: f.URL}, chromium.Network)
	p.Go("/console#token=wrong")
	p.Says("[role=alert]", "The server does not know this token.")
	p.State("wrong")

	p.Fill("[name=token]", "view")
	p.PressText("Sign in")
	p.Says("h1", "Gala 2026")
	p.Says("header", "View only")
	for _, acts := range []string{"Start a rain…", "Pause…", "Close…", "New"} {
		if strings.Contains(p.Text("body"), acts) {
			t.Errorf("a viewer is offered %q", acts)
		}
	}
	p.State("viewer")

	p.PressText("Sign out")
	p.Says("h1", "Sign in")
	if kept := browsertest.Eval[bool](p, `sessionStorage.getItem("redrain.operator") !== null`); kept {
		t.Error("the token is still there after the sign-out")
	}
	f.set(func() {
		f.answer["GET /whoami"] = reply(http.StatusServiceUnavailable, object{"status": 503, "code": "unavailable", "title": "redis does not answer"})
	})
	p.Fill("[name=token]", "op")
	p.Type("\r")
	p.Says("[role=alert]", "The server cannot do this just now (redis does not answer).")
}

func TestConsoleTakesTheTokenOutOfTheAddress(t *testing.T) {
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	p.Says("h1", "Gala 2026")
	if got := browsertest.Eval[string](p, `location.href`); got != f.URL+"/console#/campaigns/c1" {
		t.Errorf("the address is %s", got)
	}
	// The session of a token that the server forgets ends, with words.
	f.set(func() {
		f.answer["GET /campaigns"] = reply(http.StatusUnauthorized, object{"status": 401, "code": "unauthorized"})
	})
	p.Says("[role=alert]", "The server does not know the token any more.")
}

// figure is what a figure of the live view shows.
func figure(p *browsertest.Page, name string) string {
	return browsertest.Eval[string](p, `document.querySelector("[data-stat=%s] b")?.textContent ?? ""`, name)
}

func TestConsoleLive(t *testing.T) {
	f := newConsole(t)
	p := f.open(t, chromium.Options{Device: chromium.Device{Name: "desk", Width: 1280, Height: 900, Scale: 1}})
	for name, want := range map[string]string{
		"won": "1,180", "amount_left": "¥7,638.80", "grabs_per_second": "93", "outcome-empty": "50", "outcome-late": "20", "online": "300", "paid": "1,176",
		"tap_p50_ms": "1.8 ms", "tap_p99_ms": "6.4 ms", "outbox": "4", "dead": "0",
	} {
		testenv.Eventually(t, patience, name+" is "+want, func() bool { return figure(p, name) == want })
	}
	p.Until("six charts", `document.querySelectorAll(".chart canvas").length === 6`)
	p.Until("a chart in words", `document.querySelector(".plot").getAttribute("aria-label").startsWith("Grabs per second: now 93")`)
	p.Until("a chart that is drawn", `(() => {
		const c = document.querySelector(".chart canvas");
		const k = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		k.drawImage(c, 0, 0);
		const d = k.getImageData(0, 0, c.width, c.height).data;
		return d.some((v, i) => i % 4 === 3 && v > 0 && d[i - 3] > 150 && d[i - 2] < 80);
	})()`)

	// A field that the server does not know leaves a dash.
	f.set(func() { f.stats = object{"campaign": "c1", "online": 301, "won": 1181, "tap_p50_ms": nil} })
	testenv.Eventually(t, patience, "dashes", func() bool {
		return figure(p, "online") == "301" && figure(p, "tap_p50_ms") == "–" && figure(p, "outbox") == "–" && figure(p, "outcome-late") == "–"
	})

	// What is told of another campaign is not this one's.
	f.set(func() { f.mute = true })
	f.say("stats", object{"campaign": "c2", "online": 7})
	f.say("alarm", object{"code": "void_win", "campaign": "c1", "message": "a win was void"})
	p.Says(".alarm", "a win was void")
	p.State("alarm")
	if got := figure(p, "online"); got != "301" {
		t.Errorf("another campaign's figures are shown: online %s", got)
	}
	p.Press(".alarm button")
	p.Until("the alarm is gone", `!document.querySelector(".alarm")`)

	p.PressText("中文")
	p.Says("nav", "审计日志")
	p.Says(".controls", "开始红包雨…")
	if got := browsertest.Eval[string](p, `document.documentElement.lang`); got != "zh-CN" {
		t.Errorf("the page's language is %s", got)
	}
}

func TestConsoleSaysWhenItIsStale(t *testing.T) {
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	p.Until("fresh figures", `document.querySelector(".age.fresh") !== null`)

	f.set(func() { f.mute = true })
	p.Says(".age.stale", "the server sends no figures")
	f.hangUpFeeds()
	p.Says(".age.stale", "reconnecting…")
	p.State("stale")
	color := browsertest.Eval[[]string](p, `[getComputedStyle(document.querySelector(".age")).color, getComputedStyle(document.querySelector(".age .dot")).backgroundColor]`)
	if color[0] != color[1] || color[0] != "rgb(179, 32, 42)" {
		t.Errorf("stale figures are in %v, not in red", color)
	}
	f.set(func() { f.down, f.mute, f.stats["online"] = false, false, 302 })
	p.Until("fresh again", `document.querySelector(".age.fresh") !== null`)
	testenv.Eventually(t, patience, "new figures", func() bool { return figure(p, "online") == "302" })
}

func TestConsoleStartsOneRain(t *testing.T) {
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	p.PressText("Start a rain…")
	p.Says("dialog .preview", "10 s, 8 packets a second = about 80 packets on each screen.")
	p.Fill("dialog [name=duration_ms]", "601")
	p.Says("dialog .fault", "It is from 1 to 600.")
	p.Until("no start", `document.querySelector("dialog [type=submit]").disabled`)
	p.Fill("dialog [name=duration_ms]", "12.5")
	p.Fill("dialog [name=decoy_percent]", "10")
	p.Says("dialog .preview", "12.5 s, 8 packets a second = about 100 packets on each screen.")
	p.Says("dialog .preview", "About 10 of them are decoys.")
	p.State("start")

	// The answer is lost: what has happened is unknown, and the same order is sent again.
	f.set(func() {
		f.judge = func(w http.ResponseWriter, _ *http.Request) bool {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
			return true
		}
	})
	p.PressText("Start")
	p.Says("dialog .faulttext", "The server cannot be reached.")
	f.set(func() {
		f.judge = func(w http.ResponseWriter, r *http.Request) bool {
			reply(http.StatusConflict, object{"status": 409, "code": "rain_running", "title": "Conflict"})(w, r)
			return true
		}
	})
	p.PressText("Start")
	p.Says("dialog .faulttext", "Another rain of this campaign is scheduled or falling already.")
	lost := len(f.orders("/campaigns/c1/rains"))
	f.set(func() { f.judge = nil })
	// Both in one task: nothing was drawn between them.
	browsertest.Eval[any](p, `[1, 2].forEach(() => document.querySelector("dialog [type=submit]").click())`)
	p.Says(".toast", "The rain starts at")
	p.Says(".rainnow", "starts in 0:0")
	orders := f.orders("/campaigns/c1/rains")
	if len(orders) != lost+1 {
		t.Errorf("a double click sent %d orders", len(orders)-lost)
	}
	keys := make([]string, 0, len(orders))
	for _, o := range orders {
		keys = append(keys, o.key)
	}
	if len(slices.Compact(keys)) != 1 || len(keys[0]) != 32 {
		t.Errorf("one intention had the keys %q", keys)
	}
	body := orders[len(orders)-1].body
	for field, want := range map[string]any{"starts_in_ms": 3000.0, "duration_ms": 12500.0, "drops_per_second": 8.0, "fall_ms": 4000.0, "decoy_percent": 10.0, "pacing": "none"} {
		if body[field] != want {
			t.Errorf("%s is %v, want %v", field, body[field], want)
		}
	}
}

// TestConsoleSchedulesByTheServersClock: a time of this computer's clock, which is 90 s behind, is one of the server's.
func TestConsoleSchedulesByTheServersClock(t *testing.T) {
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	p.PressText("Start a rain…")
	p.Press(`//label[contains(., "At a time")]/input`)
	p.Until("a time", `document.querySelector("dialog [name=starts_at]").value !== ""`)
	p.Says("dialog", "In this computer’s time zone:")
	p.State("at")
	local := browsertest.Eval[float64](p, `new Date(document.querySelector("dialog [name=starts_at]").value).getTime()`)
	p.PressText("Schedule")
	testenv.Eventually(t, patience, "an order", func() bool { return len(f.orders("/campaigns/c1/rains")) == 1 })
	at, _ := f.orders("/campaigns/c1/rains")[0].body["starts_at"].(float64)
	if ahead := at - local; ahead < 89_500 || ahead > 90_500 {
		t.Errorf("the rain starts %v ms after the time that was asked for, on a clock that is %v ahead", ahead, clockAhead)
	}
}

func TestConsoleNamesTheMoneyBeforeItActs(t *testing.T) {
	f := newConsole(t)
	f.campaign["rains"] = []object{f.rainFrom(f.now()-3_000, "falling")}
	f.campaign["state"] = "raining"
	p := f.open(t, chromium.Options{})
	p.Says(".rainnow", "falling")

	p.PressText("Stop the rain…")
	p.Says("dialog", "¥7,638.80 in 3,820 packets stays in the campaign for another rain.")
	p.State("stop")
	p.PressText("Stop it")
	p.Until("no rain", `!document.querySelector(".rainnow") && !document.querySelector("dialog")`)

	p.PressText("Pause…")
	p.Says("dialog", "¥7,638.80 in 3,820 packets stays where it is.")
	p.Type("\x1b")
	p.Until("Esc leaves", `!document.querySelector("dialog")`)
	if got := browsertest.Eval[string](p, `document.activeElement.textContent`); got != "Pause…" {
		t.Errorf("the focus is on %q", got)
	}
	p.PressText("Pause…")
	p.Says("dialog", "still being paid")
	p.PressText("Pause")
	p.Says(".head", "paused")
	p.PressText("Resume…")
	p.Says("dialog", "Players can win the remaining ¥7,638.80 in 3,820 packets again.")
	p.PressText("Resume")
	p.Says(".head", "ready")

	p.PressText("Close…")
	p.Says("dialog", "¥7,638.80 in 3,820 packets goes back to sponsor acme.")
	p.Says("dialog", "¥2,361.20 has been won; ¥7.10 of it is still being paid.")
	p.Says("dialog", "This cannot be undone.")
	p.Until("the name is asked for", `document.querySelector("dialog [type=submit]").disabled`)
	p.State("close")
	p.Type("Gala 2026") // the focus is in the field
	p.PressTwice("dialog [type=submit]")
	p.Says(".head", "closed")
	for path, want := range map[string]int{"rains/r1/stop": 1, "pause": 1, "resume": 1, "close": 1} {
		if got := len(f.orders("/campaigns/c1/" + path)); got != want {
			t.Errorf("%s was ordered %d times", path, got)
		}
	}
	if p.Text(".controls") != "" {
		t.Error("a closed campaign is offered to be changed")
	}
}

// TestConsoleStates looks at what the other tests do not, on a phone, a desk and a wall, in both languages.
func TestConsoleStates(t *testing.T) {
	for _, o := range []chromium.Options{
		{Device: chromium.Device{Name: "phone", Width: 390, Height: 844, Scale: 1, Touch: true}, Language: "zh-CN,zh"},
		{Device: chromium.Device{Name: "phone", Width: 360, Height: 740, Scale: 1, Touch: true}, Language: "en-US,en", Dark: true},
		{Device: chromium.Device{Name: "desk", Width: 1280, Height: 900, Scale: 1}, Language: "en-US,en"},
		{Device: chromium.Wall, Language: "zh-CN,zh", Dark: true},
	} {
		t.Run(o.Device.Name+"-"+o.Language[:2], func(t *testing.T) {
			f := newConsole(t)
			p := f.open(t, o)
			look := func(place, there string) {
				t.Helper()
				p.Go("/console?" + place + "#/" + place)
				p.Until(place, `document.querySelector(%q)?.checkVisibility() === true`, there)
				p.State(strings.ReplaceAll(place, "/", "-"))
				if wide := browsertest.Eval[float64](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
					t.Errorf("%s is %v px wider than the screen", place, wide)
				}
			}
			p.Until("figures", `document.querySelector("[data-stat=won] b")?.textContent === "1,180"`)
			look("campaigns/c1", ".age.fresh")
			look("campaigns", ".side li")
			look("campaigns/c1/rains", ".empty")
			look("campaigns/c1/details", ".details")
			look("campaigns/unknown", ".faultbox")
			look("nowhere", ".empty")
			f.set(func() { f.campaign["rains"] = []object{f.rainFrom(f.now()-100_000, "ended")} })
			look("campaigns/c1/rains/", "tbody tr")
			p.Press("tbody button")
			p.Until("the proof", `document.querySelector("dialog")?.textContent.includes("efef") === true`)
			p.State("fairness")
		})
	}
}

// TestConsoleLeavesNothingBehind: an operator's tab stays open for days.
func TestConsoleLeavesNothingBehind(t *testing.T) {
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	round := func() {
		t.Helper()
		for _, tab := range []string{"details", "rains", "live"} {
			browsertest.Eval[any](p, `void (location.hash = "#/campaigns/c1/`+tab+`")`)
			p.Until(tab, map[string]string{
				"details": `!!document.querySelector(".details")`, "rains": `!!document.querySelector(".empty")`,
				"live": `document.querySelectorAll(".chart canvas").length === 6`,
			}[tab])
		}
		p.PressText("Start a rain…")
		p.Until("a dialog", `!!document.querySelector("dialog [name=duration_ms]")`)
		p.Type("\x1b")
		p.Until("no dialog", `!document.querySelector("dialog")`)
	}
	for range 3 {
		round()
	}
	before := p.Holdings()
	for range 10 {
		round()
	}
	after := p.Holdings()
	t.Logf("before %+v, after %+v", before, after)
	// What is held once more for each of ten rounds would be far above these.
	if after.Listeners > before.Listeners+5 || after.Nodes > before.Nodes+100 {
		t.Errorf("after ten rounds the page holds %d listeners and %d nodes; before, %d and %d", after.Listeners, after.Nodes, before.Listeners, before.Nodes)
	}
}
