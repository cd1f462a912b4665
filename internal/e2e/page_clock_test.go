package e2e

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"redrain/internal/browser"
	"redrain/internal/browser/browsertest"
	"redrain/internal/testenv"
)

// askew puts a page's clock 90 seconds ahead, as that of a phone may be.
const askew = `{
	const real = Date, ahead = 90_000;
	globalThis.Date = class extends real {
		constructor(...args) { if (args.length) super(...args); else super(real.now() + ahead); }
		static now() { return real.now() + ahead; }
	};
}`

// watchBig notes when each number of the countdown appears, by the page's idea of the server's time, and when a timer
// of 20 ms had its turns.
const watchBig = `addEventListener("DOMContentLoaded", () => {
	globalThis.numbers = [];
	globalThis.turns = [];
	setInterval(() => turns.push(performance.now()), 20);
	new MutationObserver(() => {
		const number = Number(document.getElementById("big").textContent || NaN);
		if (number > 0 && number !== numbers.at(-1)?.number) {
			numbers.push({ number, at: redrain.serverNow(), local: performance.now() });
		}
	}).observe(document.getElementById("big"), { childList: true, characterData: true, subtree: true });
});`

// TestClocksAgree: the clock of one of two pages is 90 s off. Both know the server's time as exactly as their round
// trip to it allows, their countdowns follow it, and each packet is at the same place in both at a moment of the
// server's.
func TestClocksAgree(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.ParallelBrowser(t, testenv.Heavy)
	n := startNode(t, setting{}.config())
	c := campaignOf(t, n, "clocks", 100, 1)
	right := openPlay(t, c.ID, "right", browser.Options{Home: n.url, Device: browser.LargePhone,
		Scripts: []string{watchBig}})
	wrong := openPlay(t, c.ID, "wrong", browser.Options{Home: n.url, Device: browser.LargePhone,
		Scripts: []string{askew, watchBig}})
	const off = `Date.now() - (performance.timeOrigin + performance.now())`
	if ahead := browsertest.Eval[float64](wrong.Page, off); ahead < 89_000 {
		t.Fatalf("the wrong clock is only %.0f ms ahead", ahead)
	}
	spec := slowRain()
	soon := int64(6_500)
	spec.StartsInMS = &soon
	r, err := n.client.StartRain(within(t, 10*time.Second), c.ID, spec, "")
	must(t, err)
	for _, g := range []*playPage{right, wrong} {
		g.Mode("falling")
		g.checkClock()
		g.checkCountdown(r.StartsAt)
	}
	checkSamePlaces(t, right, wrong)
}

// checkClock waits until the page's idea of the server's time is within half of its round trip of the truth, which is
// the clock of this machine. A few milliseconds are for rounding, and for a correction that is being taken up.
func (g *playPage) checkClock() {
	g.t.Helper()
	g.Until("the server's time", `(() => {
		const off = redrain.serverNow() - (performance.timeOrigin + performance.now());
		const rtt = Number(document.getElementById("debug").textContent.match(/rtt (\d+) ms/)[1]);
		return Math.abs(off) <= rtt / 2 + 5;
	})()`)
}

// checkCountdown: no number of the countdown has appeared before its time, and each as soon as the page had a turn:
// how late that is in milliseconds is the machine's doing. The first comes with the news of the rain, whenever that is.
func (g *playPage) checkCountdown(startsAt int64) {
	g.t.Helper()
	type number struct {
		Number int     `json:"number"`
		At     float64 `json:"at"`    // the server's time, Unix ms
		Local  float64 `json:"local"` // the page's, ms
	}
	numbers := browsertest.Eval[[]number](g.Page, "numbers")
	turns := browsertest.Eval[[]float64](g.Page, "turns")
	if len(numbers) < 3 {
		g.t.Errorf("of a countdown of six seconds the page has shown %v", numbers)
	}
	for i, n := range numbers {
		late := n.At - float64(startsAt-int64(n.Number)*1000)
		if late < -1 {
			g.t.Errorf("number %d has appeared %.1f ms before its time", n.Number, -late)
		}
		missed := 0
		for _, turn := range turns {
			if turn > n.Local-late+2 && turn < n.Local {
				missed++
			}
		}
		if i > 0 && missed > 3 {
			g.t.Errorf("number %d has appeared %.1f ms late, though a timer of 20 ms had %d turns meanwhile", n.Number,
				late,
				missed)
		}
	}
}

// checkSamePlaces looks at what is in the air on both pages at moments of the server's clock.
func checkSamePlaces(t *testing.T, a, b *playPage) {
	t.Helper()
	testenv.Eventually(t, browser.Patience, "ten packets in the air", func() bool {
		return browsertest.Eval[int](a.Page, `redrain.drops(redrain.serverNow()).length`) >= 10
	})
	now := browsertest.Eval[float64](a.Page, "redrain.serverNow()")
	compared := 0
	for _, at := range []float64{now - 200, now, now + 100} {
		first, second := inAir(a, at), inAir(b, at)
		for _, id := range slices.Sorted(maps.Keys(first)) {
			p, both := first[id], second[id]
			if both.ID == "" {
				continue // the other page has not heard of it yet, or has forgotten it as landed
			}
			compared++
			if math.Hypot(p.X-both.X, p.Y-both.Y) > 2 || math.Abs(p.Angle-both.Angle) > 0.01 || p.Decoy != both.Decoy {
				t.Errorf("%s at %.0f: %+v and %+v", id, at, p, both)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d packets could be compared", compared)
	}
}

func inAir(g *playPage, at float64) map[string]falling {
	g.t.Helper()
	found := map[string]falling{}
	for _, d := range browsertest.Eval[[]falling](g.Page, "redrain.drops(%f)", at) {
		found[d.ID] = d
	}
	return found
}
