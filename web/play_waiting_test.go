package web_test

import (
	"fmt"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
)

// TestWaitingRoom: who finds no seat is shown their place and about how long it takes, in both languages, and comes in
// by themselves when it is their turn.
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
	// A server that cannot tell is not spoken for.
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
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"campaign": "c1", "name": "年会红包雨", "wins_per_user": 3,
		"guests": true, "starts_in_ms": 3_600_000}))
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

// TestOldWins: what was won while a page was hidden, or before a player was sent away, is not told as if it were news.
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

// TestLandingFollows: where an operator lets guests in, or does so no longer, the landing offers what there is, and
// takes nobody's token out of their hands. A page that nobody sees asks nothing.
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
	testenv.Equal(t, eval[string](p, token), "half a tok", "what is left of the token that is being written")

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
