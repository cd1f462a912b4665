package web_test

import (
	"net/http"
	"testing"
	"time"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// constant are the texts that are the same in both languages: names, and the switch of languages.
var constant = []string{"年会红包雨", "guest-7f3a", "中，切换到中文", "中", "EN, switch to English", "redrain", "张*", "g*1a2b"}

// TestPlayLooks brings the player's page into each of its states, in both languages, and looks at it on common devices.
// The page is accessible (axe), nothing is in the other language, and everything fits.
func TestPlayLooks(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	devices := []chromium.Device{chromium.SmallPhone, chromium.Phone, chromium.Landscape, chromium.SmallLandscape,
		chromium.Desktop}
	for language, accept := range map[string]string{"en": "en-US,en", "zh": "zh-CN,zh"} {
		t.Run(language, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			v := &visit{language: language, accept: accept, devices: devices}
			v.open(t, func(f *fakeServer) { f.lobby(object{"starts_in_ms": 3_600_000}) })
			v.before()
			v.rain()
			v.after()
			v.open(t, (*fakeServer).stopClock, stopped)
			v.numbers()
			v.open(t, func(f *fakeServer) {
				f.setAnswer("POST /guests", reply(http.StatusForbidden,
					object{"status": 403, "code": "guests_off", "title": "Forbidden"}))
				f.lobby(object{"guests": false})
			})
			v.look("invited", `!document.getElementById("have-token").hidden`)
			v.Press("#have-token")
			v.look("signin", `!document.getElementById("signin").hidden`)
			if !v.hidden("play") {
				t.Error("guests are off, and Play is offered")
			}
			v.open(t, func(f *fakeServer) { f.lobby(object{"campaign": "", "name": "", "wins_per_user": 0}) })
			v.look("no-campaign", `document.body.dataset.mode === "problem"`)
			v.honest(t)
		})
	}
}

// visit is one person's way through the page.
type visit struct {
	*tab
	language, accept string
	devices          []chromium.Device
	wave             int
}

func (v *visit) open(t *testing.T, prepare func(*fakeServer), scripts ...string) {
	t.Helper()
	f := newFake(t)
	if prepare != nil {
		prepare(f)
	}
	o := chromium.Options{Home: f.URL, Device: chromium.LargePhone, Language: v.accept, Scripts: scripts}
	v.tab = openTab(t, f, o, chromium.Network)
	v.Looked = v.fits
	v.Go("/?debug")
	v.Until("the debug line", `!!document.getElementById("debug")`)
	browsertest.Eval[bool](v.Page, `(document.getElementById("debug").hidden = true)`)
}

// look waits until the page is in a state, and looks at it.
func (v *visit) look(state, when string) {
	v.t.Helper()
	v.Until(state, when)
	v.Look("play-"+state, v.language, v.devices, constant...)
}

// glance takes pictures of a state that passes: it is brought about anew on a phone and on a desk.
func (v *visit) glance(state string, bring func()) {
	v.t.Helper()
	for _, d := range []chromium.Device{chromium.SmallPhone, chromium.Desktop} {
		v.Resize(d)
		v.Settle()
		bring()
		v.ShootAs("play-" + state + "-" + d.Name + "-" + v.language)
	}
	v.Speaks(v.language, state, constant...)
}

func (v *visit) before() {
	v.t.Helper()
	v.look("landing", `/1:00:00|59 /.test(document.getElementById("stage-hint").textContent)`)
	v.Press("#play")
	v.mode("waiting")
	v.fake.push(v.fake.figures(4321, 679, object{"winners": []object{{"user": "张*", "amount": 88},
		{"user": "g*1a2b", "amount": 520}}}))
	v.shows("stock", "4,321")
	v.look("waiting", `document.body.dataset.mode === "waiting" && !document.getElementById("practice").hidden`)
	v.Press("#practice")
	v.look("practice", `redrain.drops(redrain.serverNow()).length > 2`)
	v.Press("#practice")
	v.fake.setRain(time.Hour, time.Minute)
	v.look("clock", `document.getElementById("big").textContent.includes(":")`)
}

// numbers is the countdown before a rain, of which a clock that stands still shows one number for as long as it takes.
func (v *visit) numbers() {
	v.t.Helper()
	v.Press("#play")
	v.mode("waiting")
	v.glance("countdown", func() {
		v.fake.setRain(8500*time.Millisecond, time.Minute)
		v.shows("big", "9")
	})
}

// pour sends packets that are all over the sky, and stay for a while. The rain must have begun a while ago.
func (v *visit) pour() {
	now := v.fake.now()
	for i := range 14 {
		v.wave++
		at := now - int64(14-i)*3_000
		v.fake.wave(v.wave, at, [3]int{(i*313 + 120) % 1000, 0, 60_000}, [3]int{(i*313 + 610) % 1000, i % 2, 56_000})
	}
}

// rain looks at the states during a rain.
func (v *visit) rain() {
	v.t.Helper()
	f := v.fake
	f.setJudge(func(string) object { return object{"outcome": "empty"} })
	f.setRain(-2*time.Minute, time.Hour)
	v.mode("falling")
	v.Until("the shout is over", `document.getElementById("big").textContent === ""`)
	v.pour()
	v.Look("play-falling", v.language, v.devices, constant...)
	outcomes := []string{"won", "empty", "late", "sold_out", "already", "too_fast", "unavailable"}
	packet := 0
	for _, outcome := range outcomes {
		f.setJudge(func(string) object {
			if outcome != "won" {
				return object{"outcome": outcome}
			}
			if packet++; packet > 2 { // a finger that was thought to have missed
				return object{"outcome": "empty"}
			}
			return f.won(packet, 64+824*packet) // of gold, and then of fortune
		})
		v.glance("outcome-"+outcome, func() {
			v.pour()
			v.hitOne()
		})
	}
	v.pour()
	f.phase("paused")
	v.look("paused", `document.body.dataset.mode === "paused"`)
	f.phase("falling")
	f.setDown(true)
	v.look("reconnecting", `!document.getElementById("banner").hidden`)
	if !v.hidden("online-dot") || v.text("online") != "–" || v.text("stock") != "–" {
		v.t.Error("the line is lost, and the page says how many are online")
	}
	f.setDown(false)
	v.Until("it is back", `document.getElementById("banner").hidden`)
}

// hitOne hits a packet in the middle of the screen, and waits until the server's answer is on the page.
func (v *visit) hitOne() {
	v.t.Helper()
	v.heardOne()
	// The packet bursts, and then the word comes: half a second shows both.
	browsertest.Eval[bool](v.Page, `new Promise((done) => `+
		`setTimeout(() => requestAnimationFrame(() => done(true)), 350))`)
}

// The card reports the luck: the kinds of the packets, the rank of the best one, and the leading player.
func (v *visit) tells() {
	v.t.Helper()
	says := map[string][]string{
		"en": {"Jackpot!", "Golden packets ×1 · Fortune packets ×1",
			"Your best beats 93% of all packets", "In the lead: 张*, ¥888.00"},
		"zh": {"鸿运当头", "金红包 ×1 · 福字红包 ×1", "最大的一个，超过全场 93% 的红包", "目前第一：张*，共 ¥888.00"},
	}[v.language]
	for i, id := range []string{"card-title", "card-prizes", "card-rank", "card-hall"} {
		v.shows(id, says[i])
	}
}

// after looks at the states after a rain.
func (v *visit) after() {
	v.t.Helper()
	f := v.fake
	f.settle()
	f.push(f.figures(4300, 700, object{"top": []object{{"user": "张*", "amount": 88800}}}))
	f.setRain(-3*time.Minute, 2*time.Second)
	v.Until("the sum has been counted up", `document.getElementById("card-amount").textContent === "¥26.00"`)
	v.look("card-won", `document.getElementById("card").open && `+
		`document.getElementById("card").classList.contains("won")`)
	v.tells()
	v.Press("#card-poster")
	v.look("poster", `document.getElementById("poster-picture").complete && `+
		`document.getElementById("poster-picture").naturalWidth === 750`)
	v.Press("#poster-close")
	v.Press("#mine")
	v.Until("my packets", `document.querySelectorAll("#sheet-list li").length > 1`)
	v.Fill("#withdraw-amount", "10.00")
	v.Press("#withdraw-go")
	v.look("sure", `!document.getElementById("withdraw-sure").hidden`)
	v.Press("#withdraw-yes")
	v.Until("the withdrawal", `document.querySelectorAll("#withdrawals li").length === 1`)
	f.decide("")
	v.Fill("#withdraw-amount", "99999")
	v.Press("#withdraw-go")
	v.look("packets", `document.getElementById("withdraw-message").textContent !== ""`)
	v.Press("#sheet-close")

	f.rainID = "r2"
	f.setJudge(func(string) object { return object{"outcome": "empty"} })
	f.setRain(-2*time.Minute, time.Hour)
	v.mode("falling")
	v.wave = 1000
	v.pour()
	v.hitOne()
	f.setRain(-3*time.Minute, 2*time.Second)
	v.look("card-none", `document.getElementById("card").open`)
	v.Press("#card-ok")
	f.push(f.figures(0, 5000, nil))
	v.look("sold-out", `document.body.dataset.mode === "over"`)
	f.setCampaign(object{"state": "closed"})
	v.look("closed", `document.body.dataset.mode === "over"`)
	f.hangUp(4501)
	v.look("too-old", `document.body.dataset.mode === "problem"`)
	testenv.Equal(v.t, v.Text("#ticker"), "", "a page that is out of date says")
}

// misfits are the elements that do not fit on the player's page. Words or buttons may reach out of the phone, lie on
// each other, or be out of reach. Chinese words may be broken into two lines. The script scrolls to elements before it
// looks at them.
const misfits = `(() => {
	const found = [], [w, h] = [innerWidth, innerHeight];
	const open = [...document.querySelectorAll("dialog[open]")].pop();
	const within = open ?? document.body;
	const { scrollHeight, scrollWidth } = document.scrollingElement;
	if (scrollHeight > h || scrollWidth > w) found.push("the page scrolls");
	const name = (e) => e.tagName.toLowerCase() + (e.id && "#" + e.id) + " " +
		JSON.stringify(e.textContent.trim().slice(0, 30));
	const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
		!e.closest(".unseen, .sky, #debug, #old, #keys") && (open || !e.closest("dialog"));
	const out = (r) => r.left < -1 || r.top < -1 || r.right > w + 1 || r.bottom > h + 1;
	const show = (r) => [r.left, r.top, r.right, r.bottom].map(Math.round).join(" ");
	const scrolls = (e) => e.closest(".scroll");
	const broken = (n) => [...new Intl.Segmenter("zh", { granularity: "word" }).segment(n.data)]
		.filter(({ segment }) => /^[\u3400-\u9fff]{2,}$/.test(segment)).filter(({ segment, index }) => {
			const word = document.createRange();
			word.setStart(n, index), word.setEnd(n, index + segment.length);
			const tops = [...word.getClientRects()].map((r) => r.top);
			return Math.max(...tops) - Math.min(...tops) > 4;
		}).map(({ segment }) => segment);
	const words = [];
	for (const e of within.querySelectorAll("*")) {
		if (!seen(e)) continue;
		const text = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
		for (const word of text.flatMap(broken)) found.push(name(e) + " breaks " + word + " into two lines");
		if (!text.length) continue;
		const range = document.createRange();
		range.setStartBefore(text[0]), range.setEndAfter(text[text.length - 1]);
		const own = e.getBoundingClientRect(), r = range.getBoundingClientRect();
		if (r.right > own.right + 1 && getComputedStyle(e).overflow === "visible")
			found.push(name(e) + " is wider than its place, by " + Math.round(r.right - own.right));
		if (scrolls(e)) continue;
		// Of what is cut off on purpose only what is left counts.
		const box = getComputedStyle(e).overflow === "visible" ? r
			: new DOMRect(Math.max(r.left, own.left), Math.max(r.top, own.top), Math.min(r.width, own.width),
				Math.min(r.height, own.height));
		if (out(box)) found.push(name(e) + " reaches out: " + show(box));
		words.push([e, box === r ? [...range.getClientRects()] : [box]]); // line by line
	}
	const lies = (r, s) => Math.min(r.right, s.right) - Math.max(r.left, s.left) > 2 &&
		Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) > 4;
	words.forEach(([a, lines], i) => words.slice(i + 1).forEach(([b, others]) => {
		if (lines.some((r) => others.some((s) => lies(r, s))) && !a.contains(b) && !b.contains(a))
			found.push(name(a) + " lies on " + name(b));
	}));
	for (const e of within.querySelectorAll("button, a[href], input")) {
		if (!seen(e) || e.disabled) continue;
		if (scrolls(e)) e.scrollIntoView({ block: "center" });
		const r = e.getBoundingClientRect();
		const top = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
		if (out(r)) found.push(name(e) + " reaches out: " + show(r));
		if (!e.contains(top)) found.push(name(e) + " lies under " + (top ? name(top) : "nothing"));
		if (r.height < 40 || r.width < 40)
			found.push(name(e) + " is small: " + Math.round(r.width) + "×" + Math.round(r.height));
	}
	return found;
})()`

// fits fails the test for each thing that does not fit.
func (v *visit) fits(state string) {
	v.t.Helper()
	for _, fault := range browsertest.Eval[[]string](v.Page, misfits) {
		v.t.Errorf("%s: %s", state, fault)
	}
}
