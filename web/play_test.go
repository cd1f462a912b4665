package web_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
)

// TestPlayModules runs the tests of the modules that decide something, in the browser that they are written for.
func TestPlayModules(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	p := openPage(t, newFake(t), "/docs", 390, 844)
	testenv.Equal(t, eval[[]string](p, `import("/testdata/modules.js").then((m) => m.run())`), nil, "faults")
}

// isOpen reports whether a dialog is open.
func (p *tab) isOpen(id string) bool {
	p.t.Helper()
	return eval[bool](p, `document.getElementById("`+id+`").open`)
}

// opens waits until a dialog is open.
func (p *tab) opens(dialog string) {
	p.t.Helper()
	p.Until(dialog+" is open", `document.getElementById(%q).open`, dialog)
}

// rains starts a rain with one wave, and waits until it falls. It returns the time of the wave.
func (p *tab) rains(drops ...[3]int) (at int64) {
	p.t.Helper()
	at = p.fake.setRain(-slowly/3*time.Millisecond, time.Hour)
	p.fake.wave(0, at, drops...)
	p.mode("falling")
	return at
}

// ends stops the rain, and waits for the card.
func (p *tab) ends() {
	p.t.Helper()
	p.fake.phase("ended")
	p.opens("card")
}

// goIn opens the player's page and presses Play.
func (p *tab) goIn(path string) {
	p.t.Helper()
	p.Go(path)
	p.mode("landing")
	p.Press("#play")
	p.mode("waiting")
}

// slowly is the fall time, in ms, of a packet that a test taps: a busy machine must not miss it.
const slowly = 300_000

// hitDrop taps the first packet of a wave, which falls slowly, where it must be by the server's clock, wherever the
// browser's own clock is.
func (p *tab) hitDrop(n int, at int64, x int) {
	p.t.Helper()
	// The place is computed in the page, by the same pure function, from a drop and a time that the test gives.
	place := eval[[]float64](p, fmt.Sprintf(`import("/testdata/modules.js").then((m) => `+
		`m.middleOf({ n: %d, k: 0, at: %d, x: %d, fall: %d }, %d))`,
		n, at, x, slowly, p.fake.now()))
	p.do(chromedp.MouseClickXY(place[0], place[1]))
}

// hitAny taps packets, the one nearest to the middle of the screen first, until one is known to be hit.
func (p *tab) hitAny(isHit func() bool) {
	p.t.Helper()
	testenv.Eventually(p.t, patience, "a packet is hit", func() bool {
		at := eval[*chromium.Point](p, `redrain.drops(redrain.serverNow())
			.filter((d) => !d.decoy && document.elementFromPoint(d.x, d.y)?.id === "rain")
			.map(({ x, y }) => ({ x, y })).sort((a, b) => Math.hypot(a.x - innerWidth / 2, a.y - innerHeight / 2) -
				Math.hypot(b.x - innerWidth / 2, b.y - innerHeight / 2))[0] ?? null`)
		if at != nil {
			p.Point(*at)
		}
		return isHit()
	})
}

// heardOne hits packets until the server has received a tap.
func (p *tab) heardOne() {
	p.t.Helper()
	before := len(p.fake.tapped())
	p.hitAny(func() bool { return len(p.fake.tapped()) > before })
}

// until waits for a moment of the fake server's clock.
func (p *tab) until(at int64) {
	p.t.Helper()
	wait := time.NewTimer(time.Duration(at-p.fake.now()) * time.Millisecond)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-p.t.Context().Done():
	}
}

// enter opens the page as a newcomer does, and presses Play.
func enter(t *testing.T, f *fakeServer, path string) *tab {
	t.Helper()
	p := openPage(t, f, path, 390, 844)
	p.mode("landing")
	p.Press("#play")
	return p
}

// play enters the campaign, and waits for its rain.
func play(t *testing.T, f *fakeServer) *tab {
	t.Helper()
	p := enter(t, f, "/?campaign=c1")
	p.mode("waiting")
	return p
}

// TestAGuestWinsAndIsPaid is the whole game with one packet: nothing is shown as won before the server has said so.
func TestAGuestWinsAndIsPaid(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newFake(t)
	decide := make(chan struct{})
	f.judge = func(string) object { <-decide; return f.won(17, 88) }
	p := openPage(t, f, "/", 390, 844)
	p.mode("landing")
	p.shows("stage-title", "年会红包雨")
	p.shows("rule", "Up to 3 packets per player")
	p.State("landing")
	p.Press("#play")
	p.mode("waiting")
	p.shows("balance", "0.00")
	p.shows("user", "Playing as Guest 7f3a")
	p.State("waiting")

	start := f.setRain(50*time.Second, time.Hour)
	p.mode("countdown")
	before := f.now()
	left, err := strconv.Atoi(p.text("big"))
	most, least := float64(start-before)/1000, float64(start-f.now())/1000
	if err != nil || float64(left) < least-1 || float64(left) > most+1.5 {
		t.Errorf("the countdown shows %d (%v), %.2f to %.2f s before the rain: is it by another clock?", left, err,
			least, most)
	}
	p.State("countdown")
	start = p.rains([3]int{500, 0, slowly}, [3]int{100, 1, slowly})
	p.State("falling")
	p.hitDrop(0, start, 500)
	testenv.Eventually(t, patience, "the tap is in flight", func() bool { return len(f.tapped()) == 1 })
	testenv.Equal(t, f.tapped()[0], "0.0", "tapped")
	testenv.Equal(t, p.text("announce"), "", "before the server has decided the page says")
	p.Shoot("pending")
	close(decide)
	p.shows("announce", "You won 0.88 yuan, packet 1 of up to 3")
	p.Shoot("won")
	p.shows("balance", "0.00")
	f.settle()
	p.shows("balance", "0.88")

	p.ends()
	p.shows("card-amount", "¥0.88") // counted up
	p.shows("card-taps", "1")
	p.State("card")
	p.Press("#card-ok")
	p.Press("#mine")
	p.shows("sheet-balance", "0.88")
	p.Until("my packets, with when it was won", `/^Packet #18received\+0\.88\d+\/\d+, \d\d:\d\d$/.test(
		document.querySelector("#sheet-list li").textContent)`)
	p.State("packets")
	p.Press("#sheet-close")
	p.Press("#language")
	p.shows("user", "您好，游客 7f3a")
}

func TestUnavailableMayBeTappedAgain(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return object{"outcome": "unavailable"} }
	p := play(t, f)
	start := p.rains([3]int{700, 0, slowly})
	f.wave(1, start+250, [3]int{100, 0, slowly})
	first := func() { p.hitDrop(0, start, 700) }
	first()
	p.shows("announce", "Busy. Tap again")
	f.setJudge(func(string) object { return object{"outcome": "empty"} })
	first()
	testenv.Eventually(t, patience, "the second tap", func() bool { return len(f.tapped()) == 2 })
	p.shows("announce", "Missed taps: 1") // not a line for each
	// A decided packet is not tapped again: the next tap that arrives is the other drop's.
	first()
	p.hitDrop(1, start+250, 100)
	testenv.Eventually(t, patience, "a third tap", func() bool { return len(f.tapped()) == 3 })
	testenv.Equal(t, f.tapped()[2], "1.0", "taps")
	// A win whose result was lost is shown at its settlement.
	f.won(5, 77)
	f.settle()
	p.shows("announce", "You won 0.77 yuan, packet 1 of up to 3")
	p.shows("balance", "0.77")
}

// TestCloseCodes: a cut line is taken up again, a final code is not.
func TestCloseCodes(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	p := play(t, f)
	f.cut()
	testenv.Eventually(t, patience, "a second hello", func() bool { return f.greeted() == 2 })
	f.hangUp(4500)
	testenv.Eventually(t, patience, "a new guest after a bad token", func() bool { return f.greeted() == 3 })
	p.mode("waiting")
	f.hangUp(4501)
	p.mode("problem")
	p.shows("stage-title", "This page is out of date")
	testenv.Equal(t, f.greeted(), 3, "hellos: it came back by itself")
	eval[bool](p, `(window.outOfDate = true)`)
	p.Press("#retry")
	testenv.Eventually(t, patience, "a hello after the button", func() bool { return f.greeted() == 4 })
	if eval[bool](p, `!!window.outOfDate`) {
		t.Error("the page that is out of date was not loaded anew")
	}
	f.hangUp(4502)
	p.shows("stage-title", "We can’t find this event")
	p.Press("#retry")
	testenv.Eventually(t, patience, "a hello once more", func() bool { return f.greeted() == 5 })
	f.hangUp(4508) // not on the list: the one who is has a link, and others may play something else
	p.shows("stage-title", "This rain is by invitation only")
	if p.hidden("have-token") || p.hidden("other") || !p.hidden("play") || !p.hidden("retry") {
		t.Error("there is no way on, or one that leads nowhere")
	}
}

func TestWithoutGuests(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.answer["POST /guests"] = reply(403, object{"status": 403, "code": "guests_off", "title": "Forbidden"})
	p := enter(t, f, "/")
	p.shows("stage-title", "Please sign in")
	f.code("K1", "u1")
	p.Press("#have-token")
	p.Fill("#signin-token", f.URL+"/?campaign=c1#code=K1") // as it was sent
	p.State("signin")
	p.Press("#signin button")
	p.mode("waiting")
	testenv.Equal(t, f.token(), "token-u1", "hello with")
	// A known player is not asked again.
	p.Go("/")
	p.mode("waiting")
	testenv.Equal(t, f.token(), "token-u1", "after a reload, hello with")
}
