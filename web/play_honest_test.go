package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// honest looks at the pages that have nothing to play, or no player.
func (v *visit) honest(t *testing.T) {
	t.Helper()
	v.open(t, func(f *fakeServer) {
		f.setAnswer("GET /lobby", reply(http.StatusNotFound, object{"status": 404, "code": "unknown_campaign"}))
	})
	v.Go("/?campaign=mistyped")
	v.look("wrong-id", `document.body.dataset.mode === "problem"`)
	v.open(t, nil)
	v.fake.code("K1", "u1")
	v.Go("/?campaign=c1#code=K1")
	v.mode("waiting")
	v.fake.code("K2", "wang.xiaoyu")
	browsertest.Eval[bool](v.Page, `(location.hash = "#code=K2", true)`)
	v.look("who", `document.getElementById("who").open`)
	v.Press("#who-now")
	v.fake.hangUp(4500)
	v.Until("the way on", `!document.getElementById("play").hidden`)
	v.look("expired", `document.body.dataset.mode === "problem"`)
	v.open(t, nil)
	v.Go("/?campaign=c1#code=used")
	v.Until("the way on", `!document.getElementById("play").hidden`)
	v.look("code-over", `document.body.dataset.mode === "problem"`)

	// The line is lost in the middle of the rain, with a tap out.
	v.open(t, func(f *fakeServer) { f.judge = func(string) object { return nil } })
	v.Press("#play")
	v.mode("waiting")
	v.fake.setRain(-2*time.Minute, time.Hour)
	v.mode("falling")
	v.pour()
	v.hitOne()
	v.fake.phase("ended")
	v.look("unsure", `document.getElementById("card").open`)
}

// TestNothingToPlay: without an event the page offers no play. The player comes in automatically when one begins.
func TestNothingToPlay(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	f := newFake(t)
	on := f.answer["GET /lobby"]
	f.lobby(object{"campaign": "", "name": "", "wins_per_user": 0})
	p := openPage(t, f, "/", 390, 844)
	p.shows("stage-title", "No event right now")
	if !p.hidden("play") || !p.hidden("have-token") || !p.hidden("retry") {
		t.Error("there is nothing to play, and a button to do so")
	}
	f.setAnswer("GET /lobby", on)
	p.mode("landing")
	if p.hidden("play") {
		t.Error("there is something to play, and no button")
	}

	// From an unknown id the player can go to the current event.
	f.setAnswer("GET /lobby", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("campaign") != "" {
			reply(http.StatusNotFound, object{"status": 404, "code": "unknown_campaign"})(w, r)
			return
		}
		on(w, r)
	})
	p.Go("/?campaign=mistyped")
	p.shows("stage-title", "We can’t find this event")
	if !p.hidden("play") {
		t.Error("what cannot be found can be played")
	}
	p.Press("#other")
	p.mode("landing")
	p.shows("stage-title", "年会红包雨")
}

// TestPlayExpired: a player with an expired token is notified, and may go on as a guest only after that.
func TestPlayExpired(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.code("K1", "u1")
	p := openPage(t, f, "/?campaign=c1#code=K1", 390, 844)
	p.mode("waiting")
	f.hangUp(4500)
	p.shows("stage-title", "You’ve been signed out")
	p.shows("play", "Play as a guest")
	if !p.hidden("signin") {
		t.Error("a code is asked for before the player has chosen it")
	}
	p.Press("#language")
	p.shows("play", "以游客身份参加")
	p.Press("#play")
	testenv.Eventually(t, patience, "a guest's hello", func() bool { return f.token() == "t1" })
	p.mode("waiting")
}

// TestPlayUnsure: the connection breaks with a tap in flight, and the rain ends. The page shows the outcome only when
// it is known.
func TestPlayUnsure(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return nil }
	p := play(t, f)
	start := p.rains([3]int{300, 0, slowly})
	p.hitDrop(0, start, 300)
	testenv.Eventually(t, patience, "the tap", func() bool { return len(f.tapped()) == 1 })
	p.ends()
	p.shows("card-title", "Confirming…")
	f.push(object{"type": "goodbye", "reason": "shutdown", "reconnect_after_ms": 100})
	f.setDown(true)
	p.Until("the banner", `!document.getElementById("banner").hidden`)
	testenv.Equal(t, p.text("card-title"), "Confirming…", "offline the card says")
	f.setJudge(func(string) object { return f.won(1, 66) })
	f.setDown(false)
	p.shows("card-title", "Congratulations!")
	p.shows("card-amount", "¥0.66")
	if got := f.tapped(); len(got) != 2 || got[0] != got[1] || p.text("mine-count") != "1" {
		t.Errorf("taps %v, %s packets", got, p.text("mine-count"))
	}
}

// heard replaces the phone's functions: it counts the sounds and the locks that keep the screen on.
const heard = `(() => {
	globalThis.heard = { contexts: [], voices: 0, locks: 0 };
	const count = AudioContext.prototype.createOscillator;
	AudioContext.prototype.createOscillator = function () { heard.voices++; return count.call(this); };
	globalThis.AudioContext = class extends AudioContext {
		constructor() { super(); heard.contexts.push(this); }
	};
	Object.defineProperty(navigator, "wakeLock", { value: { request: async () => {
		heard.locks++;
		const lock = { released: false, release: async () => { lock.released = true; heard.locks--; } };
		return lock;
	} } });
	globalThis.away = (hidden) => {
		Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"));
	};
})()`

// TestAnEvening walks through everything around the rain. A press opens the landing and lets sound begin. Then come the
// wait with its practice, a golden packet, and a lost connection. Sound that is off stays off.
func TestAnEvening(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	o := chromium.Options{Device: chromium.LargePhone, Scripts: []string{heard}}
	p := openTab(t, f, o, chromium.Network)
	p.Go("/?debug&campaign=c1")
	p.mode("landing")
	testenv.Equal(t, eval[int](p, "heard.contexts.length"), 0, "contexts of sound before a press")
	p.Press("#play")
	p.mode("waiting")
	p.Until("the sound begins with the press", "heard.contexts.length === 1")
	p.Until("the screen stays on", "heard.locks === 1")
	p.shows("pool", "¥10,000.00 in 5,000 packets")
	f.push(f.figures(4321, 679, nil))
	p.shows("here", "312 people are waiting")
	p.practises()
	p.hasMusic()

	p.drift()
	p.loses()

	p.Press("#sound")
	p.Until("the sound is over", `heard.contexts.every((c) => c.state === "closed")`)
	p.Go("/?debug&campaign=c1")
	p.mode("falling")
	p.Point(chromium.Point{X: 200, Y: 600})
	testenv.Equal(t, eval[int](p, "heard.contexts.length"), 0,
		"the sound was switched off, and is on again after a reload")
}

// practises plays with the practice packets during the wait: the server gets no tap, and practice ends before a rain.
func (p *tab) practises() {
	p.t.Helper()
	p.Until("practice is offered", `!document.getElementById("practice").hidden`)
	p.Press("#practice")
	p.shows("note", "Just practice. No prizes here")
	p.Until("no words among the packets", `[...document.querySelectorAll("#stage > :not(canvas)")]
		.every((e) => !e.checkVisibility({ visibilityProperty: true }))`)
	p.hitAny(func() bool { return strings.Contains(p.text("announce"), "Caught. Practice, no prize") })
	p.fake.setRain(10*time.Second, time.Hour)
	p.mode("countdown")
	p.Until("practice is over", `document.getElementById("practice").hidden && `+
		`redrain.drops(redrain.serverNow()).length === 0`)
	testenv.Equal(p.t, len(p.fake.tapped()), 0, "practice was sent to the server")
}

// hasMusic listens: there is music while the page is seen, and none while it is not.
func (p *tab) hasMusic() {
	p.t.Helper()
	p.Until("there is music", `heard.contexts[0].state === "running" && heard.voices > 3`)
	eval[bool](p, "(away(true), true)")
	p.Until("it stops while the page is hidden", `heard.contexts[0].state === "suspended"`)
	eval[bool](p, "(away(false), true)")
	p.Until("it goes on", `heard.contexts[0].state === "running"`)
}

// drift catches a packet that is worth more than four of the average.
func (p *tab) drift() {
	p.t.Helper()
	p.fake.setJudge(func(string) object { return p.fake.won(1, 888) })
	start := p.fake.setRain(-slowly/3*time.Millisecond, time.Hour)
	p.fake.wave(0, start, [3]int{500, 0, slowly})
	p.mode("falling")
	p.hitDrop(0, start, 500)
	p.shows("announce", "Golden packet. You won 8.88 yuan, packet 1 of up to 3")
	p.shows("gain", "+¥8.88 · Golden packet")
}

// loses cuts the connection: the page reports it and suggests a remedy.
func (p *tab) loses() {
	p.t.Helper()
	p.fake.setDown(true)
	p.Until("what can be done", `document.getElementById("banner-hint").textContent.startsWith("Check your network")`)
	p.State("lost")
	p.fake.setDown(false)
	p.Until("the line is back", `document.getElementById("banner").hidden`)
}

// TestCardSums: the card has every win of its rain, however the page has learned of it, and no other win.
func TestCardSums(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return f.won(1, 10) }
	p := play(t, f)
	start := p.rains([3]int{300, 0, slowly})
	p.hitDrop(0, start, 300)
	p.shows("mine-count", "1")

	// The page is loaded anew in the middle of the rain.
	p.Go("/?campaign=c1")
	p.mode("falling")
	p.shows("mine-count", "1")
	// A win of another campaign is paid meanwhile: it counts for the player, but not for this rain.
	f.push(object{"type": "settled", "claims": []object{{"claim": "c2-9", "amount": 500}}, "balance": 500})
	p.shows("balance", "5.00")

	// The line breaks between a win and its result, and comes back too late for the drop.
	f.setJudge(func(string) object { f.won(2, 30); return nil })
	f.wave(1, start+1000, [3]int{700, 0, slowly})
	p.hitDrop(1, start+1000, 700)
	testenv.Eventually(t, patience, "the second tap", func() bool { return len(f.tapped()) == 2 })
	f.setJudge(func(string) object { return object{"outcome": "late"} })
	f.cut()
	testenv.Eventually(t, patience, "the tap is sent again", func() bool { return len(f.tapped()) == 3 })
	p.shows("mine-count", "3")

	p.ends()
	p.shows("card-amount", "¥0.40")
	p.shows("card-sub", "You caught 2 packets")
	p.shows("card-taps", "") // fewer are counted here than have won
}

// TestFollowsOut: the campaign is gone, as after a restart of a server that keeps nothing, and another one is on.
func TestFollowsOut(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	f := newFake(t)
	p := enter(t, f, "/")
	p.mode("waiting")
	f.lobby(object{"campaign": "c2", "name": "Next", "wins_per_user": 1})
	f.hangUp(4502)
	p.mode("problem")
	p.shows("stage-title", "We can’t find this event")
	testenv.Eventually(t, patience, "a hello to the other campaign", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.hello["campaign"] == "c2"
	})
	p.mode("waiting")
}

// TestPlayWithdrawUnsure: while the result of a withdrawal is unknown, each retry has the same key. The page reports
// only withdrawals that were made.
func TestPlayWithdrawUnsure(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	// There is an older withdrawal of the same amount, and the page cannot learn of it before the new one is asked for.
	f.out = []object{{"withdrawal": "w-old", "user": "guest-7f3a", "amount": 250, "state": "paid",
		"created_at": f.now() - 60_000}}
	list := f.answer["GET /me/withdrawals"]
	f.answer["GET /me/withdrawals"] = reply(http.StatusServiceUnavailable, object{"code": "unavailable", "status": 503})
	p := play(t, f)
	f.won(3, 500)
	f.settle()
	p.shows("balance", "5.00")

	answers := make(chan http.HandlerFunc, 2)
	keys := make(chan string, 3)
	f.setAnswer("POST /me/withdrawals", func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		select {
		case answer := <-answers:
			answer(w, r)
		default:
			f.withdraw(w, r)
		}
	})
	answers <- reply(http.StatusBadGateway, object{}) // a proxy's: the server behind it may have made the withdrawal
	answers <- reply(http.StatusConflict, object{"code": "idempotency_in_progress", "title": "being worked on",
		"status": 409})
	const again = "No answer yet. Press again: you won’t withdraw twice"
	asked := func() (key string) {
		testenv.Eventually(t, patience, "a withdrawal is asked for", func() bool {
			select {
			case key = <-keys:
				return true
			default:
				return false
			}
		})
		return key
	}
	p.Press("#purse")
	p.Fill("#withdraw-amount", "2.50")
	f.setAnswer("GET /me/withdrawals", list)
	p.Press("#withdraw-go")
	p.Press("#withdraw-yes")
	first := asked()
	p.Says("#withdrawals .state", "paid by the host")
	p.shows("withdraw-message", again)
	p.Press("#withdraw-go")
	second := asked()
	p.shows("withdraw-message", again)
	p.shows("withdraw-go", "Withdraw")
	p.Press("#withdraw-go")
	third := asked()
	p.shows("withdraw-message", "Withdrawal of ¥2.50 requested")
	if first != second || second != third {
		t.Errorf("three tries under the keys %s, %s, %s", first, second, third)
	}
	testenv.Equal(t, len(f.withdrawn()), 2, "withdrawals")
}
