package web_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
)

// TestACodeInTheAddress: it signs in, and is gone from the address before anybody can share it; a reload goes on as the
// same player. A token in the address signs nobody in, wherever it stands.
func TestACodeInTheAddress(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	f := newFake(t)
	f.code("K1", "u1")
	// The server is away at first: the code is kept for as long.
	good := f.answer["POST /login"]
	f.setAnswer("POST /login", reply(http.StatusServiceUnavailable, object{"status": 503, "code": "unavailable"}))
	p := openPage(t, f, "/?campaign=c1#code=K1", 390, 844)
	p.Until("the banner", `!document.getElementById("banner").hidden`)
	f.setAnswer("POST /login", good)
	p.mode("waiting")
	p.shows("user", "Playing as u1")
	p.address("/?campaign=c1")
	p.do(chromedp.Reload())
	p.shows("user", "Playing as u1")
	testenv.Equal(t, f.token(), "token-u1", "hello with")

	// A newer code of the same player asks nothing, also one that is opened in this very tab.
	f.code("K2", "u1")
	greeted := f.greeted()
	eval[bool](p, `(location.hash = "code=K2", true)`)
	testenv.Eventually(t, patience, "the code is taken", func() bool { return f.usedUp("K2") })
	testenv.Eventually(t, patience, "it is the player's", func() bool { return f.greeted() > greeted })
	p.address("/?campaign=c1")
	p.shows("user", "Playing as u1")
	if p.isOpen("who") {
		t.Error("the player is asked whether they would like to be themselves")
	}

	// Signed out, a token in the address is nothing, and is taken out of it.
	p.Press("#purse")
	p.Press("#sign-out")
	for _, address := range []string{"/?campaign=c1&token=secret", "/?campaign=c1#token=secret",
		"/?campaign=c1&code=K3&token=a#token=secret&x=1"} {
		f.code("K3", "u3")
		p.Go("about:blank")
		p.Go(address)
		p.mode("landing")
		want := "/?campaign=c1"
		if address[len(address)-1] == '1' {
			want += "#x=1"
		}
		p.address(want)
		if f.usedUp("K3") {
			t.Error("a code in a query was used")
		}
	}
}

// address waits until the page's address is a path of the fake server.
func (p *tab) address(path string) {
	p.t.Helper()
	p.Until("the address is "+path, `location.href === %q`, p.fake.URL+path)
}

// usedUp tells whether a code was exchanged.
func (f *fakeServer) usedUp(code string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, there := f.codes[code]
	return !there
}

// TestNobodyBecomesSomebodyElse: who plays in this browser is asked before a link changes that, and both answers are
// what they say.
func TestNobodyBecomesSomebodyElse(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	p := play(t, f)
	p.shows("user", "Playing as Guest 7f3a")

	// In the tab where the guest plays. No is the default, and Esc says no.
	f.code("K1", "u1")
	eval[bool](p, `(location.hash = "#code=K1", true)`)
	p.opens("who")
	p.shows("who-text", "You’re playing as Guest 7f3a, but this link is for u1. Switch? Both keep what they’ve won")
	p.State("who")
	testenv.Equal(t, eval[string](p, `document.activeElement.id`), "who-now", "the focus is on")
	p.Press("#who-now")
	p.Until("the answer", `!document.getElementById("who").open`)
	p.shows("user", "Playing as Guest 7f3a")
	p.Until("the page has gone back to before the question", `history.state === null`) // or a reload would be aborted
	p.do(chromedp.Reload())
	p.shows("user", "Playing as Guest 7f3a")

	// In a new tab, as a link from a chat, and in the other language.
	p.Press("#language")
	f.code("K2", "u1")
	p.Go("about:blank")
	p.Go("/?campaign=c1#code=K2")
	p.opens("who")
	p.shows("who-text", "您正以「游客 7f3a」的身份参加，这个链接属于「u1」。要切换吗？两个身份的红包都会保留")
	p.Press("#who-next")
	p.shows("user", "您好，u1")
	p.address("/?campaign=c1")
	testenv.Equal(t, f.token(), "token-u1", "hello with")

	// A link that was used changes nothing either.
	eval[bool](p, `(location.hash = "#code=K2", true)`)
	p.shows("who-text", "每个链接限用一次，两分钟内有效。您仍以「u1」的身份参加")
	p.State("code-over")
	if !p.hidden("who-next") {
		t.Error("there is somebody else to be")
	}
	p.Press("#who-now")
	p.shows("user", "您好，u1")

	// The guest is still there when the player has gone.
	p.Press("#purse")
	p.Press("#sign-out")
	p.shows("user", "您好，游客 7f3a")
	testenv.Equal(t, f.token(), "t1", "hello with")
}

// TestACodeThatIsOver: the page says so, and has ways on.
func TestACodeThatIsOver(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	p := openPage(t, f, "/?campaign=c1#code=used", 390, 844)
	p.mode("problem")
	p.shows("stage-title", "This link has been used or has expired")
	p.shows("play", "Play as a guest")
	p.address("/?campaign=c1")
	p.State("over")
	f.code("K1", "u1")
	p.Press("#have-token")
	p.Fill("#signin-token", " K1 ")
	p.Press("#signin button")
	p.shows("user", "Playing as u1")
	p.mode("waiting")

	// Without a campaign in the address a guest finds what is on; a banned player has no way on.
	p = openPage(t, f, "/#code=used", 390, 844)
	p.shows("stage-title", "This link has been used or has expired")
	p.Press("#play")
	p.shows("user", "Playing as Guest 7f3a")
	p.mode("waiting")
	f.setAnswer("POST /login", reply(http.StatusForbidden, object{"status": 403, "code": "banned"}))
	p = openPage(t, f, "/?campaign=c1#code=mallorys", 390, 844)
	p.shows("stage-title", "You were removed from the event")
	if !p.hidden("play") || !p.hidden("have-token") {
		t.Error("a banned player has a way on")
	}
}
