package web_test

import (
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
)

// heard stands in for what a page can make a phone do: it counts what would be heard, and who keeps the screen on.
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

// TestAnEvening walks through what surrounds the rain: the press that opens the landing and lets sound begin, the
// wait with its practice, a golden packet, a line that is lost; and sound that is off and stays off.
func TestAnEvening(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	o := chromium.Options{Device: chromium.LargePhone, Scripts: []string{heard}}
	p := openTab(t, f, o, chromium.Network)
	p.Go("/?debug&campaign=c1")
	p.mode("landing")
	testenv.Equal(t, eval[int](p, "heard.contexts.length"), 0, "contexts of sound before anybody has pressed anything")
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

// practises plays with what falls while one waits: no server hears of it, and a rain that is near ends it.
func (p *tab) practises() {
	p.t.Helper()
	p.Until("practice is offered", `!document.getElementById("practice").hidden`)
	p.Press("#practice")
	p.shows("note", "Just practice. No prizes here")
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
	p.Until("it stops when nobody sees the page", `heard.contexts[0].state === "suspended"`)
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

// loses takes the line away: the page says what is known, and what can be done.
func (p *tab) loses() {
	p.t.Helper()
	p.fake.setDown(true)
	p.Until("what can be done", `document.getElementById("banner-hint").textContent.startsWith("Check your network")`)
	p.State("lost")
	p.fake.setDown(false)
	p.Until("the line is back", `document.getElementById("banner").hidden`)
}
