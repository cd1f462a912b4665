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

// watchBig notes when each number of the countdown appears, on the clock that all pages of this machine have in common.
const watchBig = `addEventListener("DOMContentLoaded", () => {
	globalThis.numbers = {};
	new MutationObserver(() => {
		const text = document.getElementById("big").textContent;
		if (text && !(text in numbers)) numbers[text] = performance.timeOrigin + performance.now();
	}).observe(document.getElementById("big"), { childList: true, characterData: true, subtree: true });
});`

// TestClocksAgree: the clock of one of two pages is 90 s off. Their countdowns agree all the same, and so does
// where each packet is at a moment of the server's.
func TestClocksAgree(t *testing.T) {
	testenv.Parallel(t, testenv.Medium)
	n := startNode(t, setting{}.config())
	c := campaignOf(t, n, "clocks", 100, 1)
	right := openPlay(t, c.ID, "right", browser.Options{Home: n.url, Device: browser.LargePhone,
		Scripts: []string{watchBig}})
	wrong := openPlay(t, c.ID, "wrong", browser.Options{Home: n.url, Device: browser.LargePhone,
		Scripts: []string{askew, watchBig}})
	if ahead := browsertest.Eval[float64](wrong.Page, `Date.now() - (performance.timeOrigin + performance.now())`); ahead < 89_000 {
		t.Fatalf("the wrong clock is only %.0f ms ahead", ahead)
	}

	// A browser that gets no processor for a while is late by that; what is wrong by design is so every time.
	var apart float64
	for range 3 {
		rain := slowRain()
		r, err := n.client.StartRain(within(t, 10*time.Second), c.ID, rain, "")
		must(err)
		for _, g := range []*playPage{right, wrong} {
			g.Mode("falling")
		}
		if apart = mostApart(t, right, wrong); apart <= 100 {
			break
		}
		_, err = n.client.StopRain(within(t, 10*time.Second), c.ID, r.ID)
		must(err)
		for _, g := range []*playPage{right, wrong} {
			g.Mode("waiting")
			browsertest.Eval[bool](g.Page, `document.getElementById("card").close(), globalThis.numbers = {}, true`)
		}
	}
	t.Logf("the countdowns are %.1f ms apart at most", apart)
	if apart > 100 {
		t.Errorf("the countdowns are %.0f ms apart", apart)
	}
	checkSamePlaces(t, right, wrong)
}

// mostApart is how far apart the two pages have shown the same number, in ms.
func mostApart(t *testing.T, a, b *playPage) (apart float64) {
	t.Helper()
	of := func(g *playPage) map[string]float64 {
		return browsertest.Eval[map[string]float64](g.Page, "globalThis.numbers")
	}
	first, second := of(a), of(b)
	for _, number := range []string{"3", "2", "1"} {
		if first[number] == 0 || second[number] == 0 {
			t.Fatalf("number %s of the countdown: %v and %v", number, first, second)
		}
		apart = max(apart, math.Abs(first[number]-second[number]))
	}
	return apart
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
	// And each page takes it for the same time.
	skew := func(g *playPage) float64 {
		return browsertest.Eval[float64](g.Page, "redrain.serverNow() - (performance.timeOrigin + performance.now())")
	}
	if d := math.Abs(skew(a) - skew(b)); d > 100 {
		t.Errorf("the pages' server clocks are %.0f ms apart", d)
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
