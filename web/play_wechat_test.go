package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/web"
)

// inWeChat has a browser call itself as WeChat's does.
const inWeChat = `Object.defineProperty(navigator, "userAgent", { value: navigator.userAgent +
	" NetType/WIFI MicroMessenger/8.0.49.2600(0x2800313D) WindowsWechat Language/zh_CN" })`

// fakeSDK is as much of WeChat's script as the page uses. It keeps what it is told.
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
	script, signed string // what they answer; "": 500

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

// TestInWeChat: what is sent on from WeChat's browser looks as the page says, and names the event and nothing else of
// the address.
func TestInWeChat(t *testing.T) {
	browserFrom(t, testenv.All)
	n := newTencent(t)
	p := n.enter(t, "/?campaign=c1&x=y%26#later", inWeChat)
	p.Until("both shares are told", `!!(globalThis.told?.shares.chat && told.shares.moments)`)
	for what, want := range map[string]string{
		"config": `{"appId":"wx1","timestamp":1414587457,"nonceStr":"n","signature":"s",` +
			`"jsApiList":["updateAppMessageShareData","updateTimelineShareData"]}`,
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

// TestOutsideWeChat nobody is asked for anything.
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
		t.Errorf("the page has loaded what is for WeChat: %q", asked)
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
			t.Errorf("%s: the script was told something", name)
		}
		testenv.Eventually(t, patience, name+": who looks for the cause finds it",
			func() bool { return strings.Contains(fmt.Sprint(p.Faults()), "WeChat's JS-SDK:") })
		p.Forgive()
	}
}
