package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
)

// bridge is WeChat's interface for pages: it comes after a while, notes its calls, and answers what the test wants.
const bridge = `setTimeout(() => {
	globalThis.calls = [];
	globalThis.says = "ok";
	globalThis.WeixinJSBridge = { invoke(call, values, then) {
		globalThis.calls.push([call, values.mchId, values.appId, values.package].join(" "));
		setTimeout(() => then({ err_msg: call + ":" + globalThis.says }));
	} };
	document.dispatchEvent(new Event("WeixinJSBridgeReady"));
}, 300);`

// openWeChat opens a page in WeChat's browser.
func openWeChat(t *testing.T, f *fakeServer, path string) *tab {
	t.Helper()
	o := chromium.Options{Device: chromium.Device{Width: 390, Height: 844, Scale: 1},
		Scripts: []string{rememberModes, inWeChat, bridge}}
	p := openTab(t, f, o, chromium.Network)
	t.Cleanup(func() { p.Shoot("end") })
	p.Go(path)
	return p
}

// logins lets the fake server log in by a way: it returns at once, as a player or with an error. It returns the
// requests that have come.
func (f *fakeServer) logins(way, user, fault string) (asked func() []string) {
	var all []string
	f.lobby(object{"names": true, "logins": []string{way}})
	f.setAnswer("GET /login/"+way, func(w http.ResponseWriter, r *http.Request) {
		locked(&f.mu, func() { all = append(all, r.URL.RawQuery) })
		end := "#login=" + fault
		if fault == "" {
			code := fmt.Sprintf("K%d", time.Now().UnixNano())
			f.code(code, user)
			end = "#code=" + code
		}
		http.Redirect(w, r, r.URL.Query().Get("return")+end, http.StatusFound)
	})
	return func() []string { return read(f, func() []string { return append([]string{}, all...) }) }
}

// TestWeChatLogsInWithoutAPress: once; a reload goes on as the same player.
func TestWeChatLogsInWithoutAPress(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	asked := f.logins("wechat", "wx-a2b3c4d5", "")
	p := openWeChat(t, f, "/?campaign=c1")
	p.mode("waiting")
	p.shows("user", "Playing as Player c4d5")
	p.address("/?campaign=c1")
	p.do(chromedp.Reload())
	p.shows("user", "Playing as Player c4d5")
	want := "return=" + url.QueryEscape(f.URL+"/?campaign=c1")
	if got := asked(); len(got) != 1 || got[0] != want {
		t.Errorf("logins %q, want %q once", got, want)
	}
	p.Until("the nickname is offered", `!document.getElementById("login-profile").hidden`)
	p.State("nickname")
	p.Press("#login-profile")
	testenv.Eventually(t, patience, "the nickname is asked for", func() bool {
		got := asked()
		return len(got) == 2 && strings.HasSuffix(got[1], "&profile=true")
	})
}

// TestAFailedLogin: the page says so, does not repeat it by itself, and has ways on.
func TestAFailedLogin(t *testing.T) {
	browserFrom(t, testenv.All)
	for fault, title := range map[string]string{"login_denied": "Login cancelled",
		"login_snapshot": "Use the full service", "login_busy": "Can’t log in right now"} {
		f := newFake(t)
		asked := f.logins("wechat", "", fault)
		p := openWeChat(t, f, "/?campaign=c1")
		p.shows("stage-title", title)
		p.address("/?campaign=c1")
		p.Until("a way on", `!document.getElementById("login").hidden && !document.getElementById("play").hidden`)
		p.State(fault)
		testenv.Equal(t, len(asked()), 1, "%s: logins", fault)
		p.Press("#login")
		testenv.Eventually(t, patience, "another login", func() bool { return len(asked()) == 2 })
	}
}

// TestALoginByAPress: in other browsers the page offers OpenID Connect, and nothing of WeChat's.
func TestALoginByAPress(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	asked := f.logins("wechat", "", "")
	p := openPage(t, f, "/?campaign=c1", 390, 844)
	p.mode("landing")
	if !p.hidden("login") || len(asked()) != 0 {
		t.Error("WeChat's login is offered outside WeChat")
	}
	asked = f.logins("oidc", "oidc-a2b3c4d5", "")
	for _, width := range []int64{320, 390, 1280} {
		p = openPage(t, f, "/?campaign=c1", width, 720)
		p.mode("landing")
		p.shows("login", "Log in")
		p.State(fmt.Sprintf("login-%d", width))
	}
	p.Press("#login")
	p.mode("waiting")
	p.shows("user", "Playing as Player c4d5")
	testenv.Equal(t, asked(), []string{"return=" + url.QueryEscape(f.URL+"/?campaign=c1")}, "logins")
}

// transfer is a transfer of WeChat's that waits for its player.
var transfer = object{"kind": "wechat", "mch_id": "1900001109", "app_id": "wx8888888888888888",
	"package": "affffddafdfafddffda=="}

// waits makes a withdrawal that waits for its player, in WeChat.
func (f *fakeServer) waits(t *testing.T) {
	t.Helper()
	made := object{"withdrawal": "w1", "user": "u", "amount": 500, "state": "pending", "stage": "requested",
		"created_at": f.now()}
	locked(&f.mu, func() { f.out = []object{made} })
	f.needsSilently(transfer)
}

// TestATransferIsConfirmedInWeChat is a player's whole evening: login, rain, win, withdrawal, confirmation by a press,
// with words for an old WeChat, and the payment.
func TestATransferIsConfirmedInWeChat(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.logins("wechat", "wx-a2b3c4d5", "")
	f.judge = func(string) object { return f.won(17, 88) }
	p := openWeChat(t, f, "/?campaign=c1")
	p.mode("waiting")
	p.hitDrop(0, p.rains([3]int{500, 0, slowly}), 500)
	testenv.Eventually(t, patience, "the packet is won", func() bool { return len(f.tapped()) == 1 })
	p.shows("announce", "You won 0.88 yuan, packet 1 of up to 3")
	f.settle()
	p.ends()
	p.shows("card-amount", "¥0.88")
	p.Press("#card-ok")
	p.Press("#mine")
	p.Press("#withdraw-all")
	p.Press("#withdraw-go")
	p.Press("#withdraw-yes")
	p.shows("withdraw-message", "Withdrawal of ¥0.88 requested")
	f.needs(transfer)
	const press = "#withdrawals .todo button"
	p.Until("the way to confirm", `document.querySelector(%q)?.textContent === "Confirm receipt"`, press)
	p.State("waits")
	p.Until("the bridge is there", `!!globalThis.calls`)
	eval[bool](p, `(globalThis.says = "function_not_exist", true)`)
	p.Press(press)
	p.shows("transfer-title", "WeChat didn’t open the confirmation")
	p.State("old")
	p.Press("#transfer-close")
	eval[bool](p, `(globalThis.says = "ok", true)`)
	p.Press(press)
	p.Until("the bridge is called again", `globalThis.calls.length === 2`)
	testenv.Equal(t, eval[string](p, `globalThis.calls[1]`),
		"requestMerchantTransfer 1900001109 wx8888888888888888 affffddafdfafddffda==", "the call")
	f.decide("")
	p.Until("it is paid", `document.querySelector("#withdrawals .state.paid") !== null`)
}

// TestATransferIsConfirmedByScanning: the code opens the page in WeChat as the same player, and goes when it is done.
func TestATransferIsConfirmedByScanning(t *testing.T) {
	browserFrom(t, testenv.All)
	for _, c := range []struct {
		lang          string
		width, height int64
	}{{"zh", 320, 568}, {"en", 390, 844}, {"zh", 1280, 720}, {"en", 1280, 720}} {
		f := newFake(t)
		f.waits(t)
		f.setAnswer("POST /login-codes", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			reply(http.StatusCreated, object{"code": "4ZJ3QK7XN2V5TBM6WRHY7DCLPE", "expires_at": f.now() + 120_000,
				"link": "/?campaign=c1#code=4ZJ3QK7XN2V5TBM6WRHY7DCLPE"})(w, r)
		})
		p := openPage(t, f, "/?campaign=c1", c.width, c.height)
		p.mode("landing")
		if c.lang == "zh" {
			p.Press("#language")
		}
		p.Press("#play")
		p.mode("waiting")
		p.Press("#purse")
		p.Until("the way to confirm", `!!document.querySelector("#withdrawals .todo button")`)
		p.State(fmt.Sprintf("waits-%s-%d", c.lang, c.width))
		p.Press("#withdrawals .todo button")
		p.opens("transfer")
		p.Until("the code", `!document.getElementById("transfer-code").hidden`)
		p.State(fmt.Sprintf("code-%s-%d", c.lang, c.width))
		testenv.Equal(t, p.read(), f.URL+"/?campaign=c1#code=4ZJ3QK7XN2V5TBM6WRHY7DCLPE", "the code leads to")
		f.decide("")
		p.Until("the code goes", `!document.getElementById("transfer").open`)
	}
}
