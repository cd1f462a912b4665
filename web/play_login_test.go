package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/altcha-org/altcha-lib-go"
	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
)

// TestACodeInTheAddress: a code signs in, and leaves the address before anybody can share it. A reload goes on as the
// same player. A token in the address does not sign in, at any place.
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

// usedUp reports whether a code was exchanged.
func (f *fakeServer) usedUp(code string) bool {
	return read(f, func() bool { return f.codes[code] == nil })
}

// TestNobodyBecomesSomebodyElse: a link asks the present player before it changes the player, and the page obeys both
// answers.
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
		t.Error("another player is offered")
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

	// Without a campaign in the address a guest gets the current event; a banned player has no way on.
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

// demand lets guests in for a proof only. It returns the proofs that have come.
func (f *fakeServer) demand(challenge func() object, good func(proof string) bool) (proofs func() []string) {
	var all []string
	f.mu.Lock()
	made := f.answer["POST /guests"]
	f.mu.Unlock()
	f.setAnswer("POST /guests", func(w http.ResponseWriter, r *http.Request) {
		var said struct {
			Proof string `json:"proof"`
		}
		_ = json.NewDecoder(r.Body).Decode(&said) // no body: no proof
		if said.Proof != "" {
			locked(&f.mu, func() { all = append(all, said.Proof) })
		}
		if said.Proof == "" || !good(said.Proof) {
			reply(http.StatusForbidden, object{"status": 403, "code": "challenge_required", "title": "Forbidden",
				"challenge": challenge()})(w, r)
			return
		}
		made(w, r)
	})
	return func() []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return append([]string{}, all...)
	}
}

// work is a challenge that takes a browser some tenths of a second.
func work(t *testing.T) object {
	t.Helper()
	number := int64(40_000)
	c, err := altcha.CreateChallenge(altcha.ChallengeOptions{Algorithm: altcha.SHA256, MaxNumber: 50_000, HMACKey: "k",
		Number: &number})
	if err != nil {
		t.Error(err)
	}
	return object{"kind": "work", "work": c}
}

func worked(proof string) bool {
	ok, err := altcha.VerifySolutionSafe(proof, "k", true)
	return err == nil && ok
}

// TestAGuestWorks: the page does the server's proof of work, again if the difficulty has risen, and plays.
func TestAGuestWorks(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	times := 0
	proofs := f.demand(func() object { return work(t) }, func(proof string) bool {
		times++
		return times == 2 && worked(proof)
	})
	p := enter(t, f, "/")
	p.mode("waiting")
	p.shows("user", "Playing as Guest 7f3a")
	if got := proofs(); len(got) != 2 || !worked(got[0]) || got[0] == got[1] {
		t.Errorf("proofs %q", got)
	}
	if p.isOpen("challenge") {
		t.Error("the dialog is still there")
	}
}

// TestAScreenWorks: a big screen does its proof of work without a press.
func TestAScreenWorks(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	proofs := f.demand(func() object { return work(t) }, worked)
	openPage(t, f, "/screen", 1280, 720)
	testenv.Eventually(t, patience, "the screen is in the room", func() bool { return f.greeted() > 0 })
	testenv.Equal(t, len(proofs()), 1, "proofs")
}

// TestAGuestIsAPerson: the page shows a service's widget, and the widget's answer is the proof.
func TestAGuestIsAPerson(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.setAnswer("GET /widget.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, `globalThis.turnstile = { render(place, { sitekey, callback }) {
			const box = document.createElement("button");
			box.id = "box";
			box.textContent = "I am a person";
			box.addEventListener("click", () => callback("a person at " + sitekey));
			place.append(box);
		} };`)
	})
	proofs := f.demand(func() object {
		return object{"kind": "turnstile", "site_key": "site", "script": f.URL + "/api/v1/widget.js"}
	}, func(proof string) bool { return proof == "a person at site" })
	p := enter(t, f, "/")
	p.Until("the widget is there to be ticked", `!!document.getElementById("box") && `+
		`!document.getElementById("challenge").getAnimations().length`)
	p.State("challenge")
	p.Press("#box")
	p.mode("waiting")
	testenv.Equal(t, len(proofs()), 1, "proofs")
}

// TestPlayWithdraw takes money out: a double press makes one withdrawal, and the page shows each state. For lost
// answers see TestPlayWithdrawUnsure.
func TestPlayWithdraw(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.won(3, 500)
	f.settle()
	p := play(t, f)
	p.shows("balance", "5.00")
	p.Press("#purse")
	p.Fill("#withdraw-amount", "7")
	p.Press("#withdraw-go")
	p.shows("withdraw-message", "Your balance is only ¥5.00")
	p.Fill("#withdraw-amount", "twelve")
	p.Press("#withdraw-go")
	p.shows("withdraw-message", "Enter an amount, such as 12.50")
	p.State("error")

	// The organizer's limits are shown in the player's words.
	p.Fill("#withdraw-amount", "2.50")
	for code, says := range map[string]string{
		"withdrawal_too_small":   "That’s below the minimum withdrawal",
		"daily_limit":            "That’s over the daily limit. Withdraw less, or try again tomorrow",
		"hourly_limit":           "Too many withdrawals. Try again in an hour",
		"guests_cannot_withdraw": "Guests cannot withdraw. Sign in with the host’s account",
	} {
		f.refuse(code)
		p.Press("#withdraw-go")
		p.Press("#withdraw-yes")
		p.shows("withdraw-message", says)
	}
	f.refuse("")

	// The page names the destination, and sends nothing before a second confirmation.
	p.Press("#withdraw-go")
	p.shows("withdraw-where", "¥2.50 will be taken off your balance and marked as paid. "+
		"The host pays you directly. Continue?")
	p.State("sure")
	p.Press("#withdraw-no")
	if !p.hidden("withdraw-sure") || len(f.withdrawn()) != 0 {
		t.Fatalf("called off: %d withdrawals", len(f.withdrawn()))
	}
	locked(&f.mu, func() { f.payout = object{"provider": "http", "name": "your WeChat balance"} })
	p.Press("#sheet-close")
	p.Press("#purse")
	p.Press("#withdraw-go")
	p.shows("withdraw-where", "Withdraw ¥2.50 to your WeChat balance?")
	p.PressTwice("#withdraw-yes")
	p.shows("withdraw-message", "Withdrawal of ¥2.50 requested")
	p.shows("sheet-balance", "2.50")
	if got := f.withdrawn(); len(got) != 1 {
		t.Fatalf("a double press made %d withdrawals", len(got))
	}
	// The second of two presses may come when the first has been answered already: the answer stays to be read.
	p.Press("#withdraw-go")
	testenv.Equal(t, p.text("withdraw-message"), "Withdrawal of ¥2.50 requested", "a press too many")
	state := func(want string) {
		t.Helper()
		p.Until("the newest withdrawal is "+want,
			`document.querySelector("#withdrawals .state")?.textContent === %q`, want)
	}
	state("requested")
	// The provider needs the player's confirmation: the page shows the link to it only if it is an https address.
	const confirm = `document.querySelector("#withdrawals .todo a")?.href ?? ""`
	f.needsSilently(object{"url": "javascript:alert(1)"})
	state("needs your confirmation") // though the message was lost
	testenv.Equal(t, eval[string](p, confirm), "", "a link to")
	f.needs(object{"url": "https://pay.example/confirm?w=1", "expires_at": f.now() + 86_400_000})
	p.Until("the way to confirm", `(%s) === "https://pay.example/confirm?w=1"`, confirm)
	p.State("action")
	f.decide("")
	state("paid")

	p.Press("#withdraw-all")
	p.Press("#withdraw-go")
	p.Press("#withdraw-yes")
	p.shows("sheet-balance", "0.00")
	f.decide("the account is closed")
	state("declined, returned")
	p.shows("sheet-balance", "2.50")
	p.shows("withdraw-message", "") // it is requested no longer
	p.State("refused")
}
