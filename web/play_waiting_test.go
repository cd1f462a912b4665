package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/web"
)

// TestWaitingRoom: a player without a slot sees the queue position and the estimated wait, in both languages. The
// player is admitted automatically when it is their turn.
func TestWaitingRoom(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.full = object{"type": "goodbye", "reason": "waiting", "reconnect_after_ms": 1000, "position": 812,
		"wait_ms": 61_000}
	turn := object{"admitted": false, "position": 37, "retry_after_ms": 1000, "wait_ms": 3_000_000}
	f.answer["GET /admission"] = func(w http.ResponseWriter, r *http.Request) {
		locked(&f.mu, func() { reply(http.StatusOK, turn)(w, r) })
	}
	p := openPage(t, f, "/?campaign=c1", 390, 844)
	p.Press("#play")
	testenv.Eventually(t, patience, "the place", func() bool {
		title := p.text("stage-title")
		return title == "The room is full. You’re number 812 in line" ||
			title == "The room is full. You’re number 37 in line"
	})
	p.shows("campaign", "年会红包雨")
	p.shows("stage-title", "The room is full. You’re number 37 in line")
	p.State("queue")
	p.hints(`^About (4\d|50) min \d+ s left\. You’ll be let in automatically$`)
	p.Press("#language")
	p.shows("stage-title", "现场已满，您排在第 37 位")
	p.hints(`^预计还需 (4\d|50) 分 \d+ 秒，轮到您会自动进入$`)
	p.Shoot("queue-zh")
	f.mu.Lock()
	turn = object{"admitted": false, "position": 2, "retry_after_ms": 1000, "wait_ms": 59_000}
	f.mu.Unlock()
	p.hints(`^预计还需 \d+ 秒，轮到您会自动进入$`)
	// If the server has no estimate, the page shows none.
	locked(&f.mu, func() { turn = object{"admitted": false, "position": 36, "retry_after_ms": 1000} })
	p.hints("^请留在本页，轮到您会自动进入$")
	locked(&f.mu, func() { f.full, turn = nil, object{"admitted": true} })
	p.shows("stage-title", "等待下一场红包雨")
}

// hints waits until the hint on the stage is like a pattern.
func (p *tab) hints(pattern string) {
	p.t.Helper()
	testenv.Eventually(p.t, patience, "the hint "+pattern, func() bool {
		return regexp.MustCompile(pattern).MatchString(p.text("stage-hint"))
	})
}

// TestSpread: in a countdown a page comes in at a moment of its own, and says meanwhile nothing that is not so.
func TestSpread(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.lobby(object{"starts_in_ms": 3_600_000})
	p := openPage(t, f, "/?campaign=c1", 390, 844)
	p.Until("the landing", `!document.getElementById("play").hidden`)
	// The moment is the last of three seconds. The page is looked at as soon as it is clear that it waits.
	quiet := eval[bool](p, `(() => {
		Math.random = () => 0.999;
		window.clicked = performance.now();
		window.WebSocket = class extends WebSocket {
			constructor(...of) {
				super(...of);
				window.waited ??= performance.now() - window.clicked;
			}
		};
		document.getElementById("play").click();
		return document.getElementById("banner").hidden;
	})()`)
	p.Until("the page comes in", `window.waited > 0`)
	if waited := eval[float64](p, `window.waited`); !quiet || waited < 2_900 {
		t.Errorf("in after %.0f ms; without a banner: %v", waited, quiet)
	}
	p.mode("waiting")
}

// TestOldWins: a win from while the page was hidden, or from before a ban, is not shown as news.
func TestOldWins(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	p := openPage(t, f, "/?campaign=c1", 390, 844)
	p.Press("#play")
	p.mode("waiting")
	won := func(amount int, line string) {
		f.push(f.figures(5, 5, object{"winners": []object{{"user": "g*1a2b", "amount": amount}}}))
		p.shows("ticker-text", line)
	}
	gone := func(when string) { p.Until("no old win "+when, `document.getElementById("ticker").hidden`) }
	won(88, "Guest 1a2b won ¥0.88")
	eval[bool](p, `document.dispatchEvent(new Event("visibilitychange"))`)
	gone("after a hidden tab")
	won(99, "Guest 1a2b won ¥0.99")
	f.hangUp(4506)
	p.mode("problem")
	gone("after a ban")
}

// heldWaits is a script that holds the waits between two questions for the campaign until the test lets them end.
const heldWaits = `{
	globalThis.held = [];
	Math.random = () => 0.5;
	const later = setTimeout;
	const between = [7_500, 15_000];
	globalThis.setTimeout = (then, ms, ...of) => between.includes(ms) ? held.push(then) : later(then, ms, ...of);
}`

// TestLandingFollows: when an operator turns guests on or off, the landing changes its offers. It keeps a token that a
// player is typing. A hidden page sends no requests.
func TestLandingFollows(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	var asked atomic.Int64
	about := func(guests bool) {
		answer := reply(http.StatusOK, object{"campaign": "c1", "name": "年会红包雨", "wins_per_user": 3,
			"guests": guests})
		f.setAnswer("GET /lobby", func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			answer(w, r)
		})
	}
	about(true)
	o := chromium.Options{Device: chromium.Phone, Scripts: []string{heldWaits}}
	p := openTab(t, f, o, chromium.Network)
	p.Go("/?campaign=c1")
	again := func() {
		p.Until("it waits", `held.length === 1`)
		eval[bool](p, `(held.pop()(), true)`)
		p.Until("it waits again", `held.length === 1`)
	}
	offers := func(when string, play, token bool) {
		t.Helper()
		if gotPlay, gotToken := !p.hidden("play"), !p.hidden("have-token"); gotPlay != play || gotToken != token {
			t.Errorf("%s: guests are offered to play: %v, others to sign in: %v", when, gotPlay, gotToken)
		}
	}
	p.Until("the landing", `held.length === 1`)
	offers("at first", true, true)
	about(false)
	again()
	offers("guests are off", false, true)
	p.Press("#have-token")
	p.Fill("#signin-token", "half a tok")
	about(true)
	again()
	offers("guests are on", true, true)
	const token = `(({ hidden, elements }) => hidden ? "" : elements[0].value)(document.getElementById("signin"))`
	testenv.Equal(t, eval[string](p, token), "half a tok", "the half-typed token")

	before := asked.Load()
	hidden := func(hidden bool) {
		eval[bool](p, fmt.Sprintf(`(Object.defineProperty(document, "hidden",
			{ configurable: true, value: %t }), true)`, hidden))
		again()
	}
	hidden(true)
	testenv.Equal(t, asked.Load(), before, "requests of a hidden page")
	hidden(false)
	testenv.Equal(t, asked.Load(), before+1, "requests of a page that is seen again")
}

// inWeChat has a browser call itself as WeChat's does.
const inWeChat = `Object.defineProperty(navigator, "userAgent", { value: navigator.userAgent +
	" NetType/WIFI MicroMessenger/8.0.49.2600(0x2800313D) WindowsWechat Language/zh_CN" })`

// fakeSDK is the part of WeChat's script that the page uses. It keeps its arguments.
const fakeSDK = `globalThis.told = { config: null, shares: {} };
globalThis.wx = {
	config: (c) => { told.config = c; },
	ready: (then) => setTimeout(then),
	updateAppMessageShareData: (s) => { told.shares.chat = s; },
	updateTimelineShareData: (s) => { told.shares.moments = s; },
};`

// tencent is WeChat's server with the script, and the operator's that signs, on an origin of their own.
type tencent struct {
	*httptest.Server
	script, signed string // their answers; "": 500

	mu    sync.Mutex
	asked []string // paths, and of the signer the addresses
}

func newTencent(t *testing.T) *tencent {
	t.Helper()
	n := &tencent{script: fakeSDK,
		signed: `{"appId": "wx1", "timestamp": 1414587457, "nonceStr": "n", "signature": "s", "debug": true}`}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asked = append(n.asked, r.URL.Path+r.URL.Query().Get("url"))
		answer, kind := n.script, "text/javascript"
		if r.URL.Path == "/sign" {
			answer, kind = n.signed, "application/json"
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}
		w.Header().Set("Content-Type", kind)
		if answer == "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *tencent) was() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, n.asked...)
}

// enter opens the player's page, of a server that knows the two.
func (n *tencent) enter(t *testing.T, path string, scripts ...string) *tab {
	t.Helper()
	f := newFake(t)
	f.pages = web.Handler(web.Options{PublicURL: "https://rain.example",
		WeChat: web.WeChat{Sign: n.URL + "/sign?v=1", SDK: n.URL + "/sdk.js"}})
	o := chromium.Options{Device: chromium.LargePhone, Scripts: scripts}
	p := openTab(t, f, o, chromium.Network, chromium.Foreign)
	p.Go(path)
	return p
}

// TestInWeChat: a link that is shared from WeChat's browser has the page's preview. Its address names the event and
// nothing else.
func TestInWeChat(t *testing.T) {
	browserFrom(t, testenv.All)
	n := newTencent(t)
	p := n.enter(t, "/?campaign=c1&x=y%26#later", inWeChat)
	p.Until("both shares are set", `!!(globalThis.told?.shares.chat && told.shares.moments)`)
	for what, want := range map[string]string{
		"config": `{"appId":"wx1","timestamp":1414587457,"nonceStr":"n","signature":"s",` +
			`"jsApiList":["updateAppMessageShareData","updateTimelineShareData","requestMerchantTransfer"]}`,
		"shares.chat.title":     `"红包雨 · Red packet rain"`,
		"shares.chat.desc":      `"红包从天而降，手快有手慢无。Red packets fall from the sky. Be quick and they’re yours."`,
		"shares.chat.link":      fmt.Sprintf("%q", p.fake.URL+"/?campaign=c1"),
		"shares.moments.link":   fmt.Sprintf("%q", p.fake.URL+"/?campaign=c1"),
		"shares.moments.imgUrl": `"https://rain.example` + asset(t, "share.jpg") + `"`,
	} {
		testenv.Equal(t, eval[string](p, "JSON.stringify(told."+what+")"), want, "%s is", what)
	}
	signed := "/sign" + p.fake.URL + "/?campaign=c1&x=y%26"
	asked := n.was()
	if len(asked) != 2 || asked[0] != signed && asked[1] != signed {
		t.Errorf("asked for %q, want the script and %s", asked, signed)
	}
}

// TestOutsideWeChat: the page asks neither server for anything.
func TestOutsideWeChat(t *testing.T) {
	browserFrom(t, testenv.All)
	n := newTencent(t)
	p := n.enter(t, "/?debug")
	p.Until("what comes late is there", `!!globalThis.redrain && performance.getEntriesByType("resource")
		.some((r) => r.name.includes("/late-"))`)
	p.Press("#play") // some answers of the server later
	p.mode("waiting")
	if asked := n.was(); len(asked) > 0 || eval[bool](p, `performance.getEntriesByType("resource")
		.some((r) => r.name.includes("/wechat-"))`) {
		t.Errorf("the page has loaded files for WeChat: %q", asked)
	}
}

// TestWithoutWeChat: whatever does not work, the page is played as it was.
func TestWithoutWeChat(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	for name, spoil := range map[string]func(*tencent){
		"no signer":      func(n *tencent) { n.signed = "" },
		"no signature":   func(n *tencent) { n.signed = `{"appId": "wx1", "timestamp": 1, "nonceStr": {}}` },
		"no JSON":        func(n *tencent) { n.signed = `<html>` },
		"no script":      func(n *tencent) { n.script = "" },
		"an empty one":   func(n *tencent) { n.script = ";" },
		"one that fails": func(n *tencent) { n.script = `globalThis.wx = { config() { throw new Error("no"); } }` },
	} {
		n := newTencent(t)
		spoil(n)
		p := n.enter(t, "/", inWeChat)
		testenv.Eventually(t, patience, name+": both are asked", func() bool { return len(n.was()) == 2 })
		p.mode("landing")
		p.Press("#play")
		p.mode("waiting")
		if eval[bool](p, `!!globalThis.told?.config`) {
			t.Errorf("%s: the script was configured", name)
		}
		testenv.Eventually(t, patience, name+": who looks for the cause finds it",
			func() bool { return strings.Contains(fmt.Sprint(p.Faults()), "WeChat's JS-SDK:") })
		p.Forgive()
	}
}
