package web_test

import (
	"fmt"
	"strings"
	"testing"

	chromium "redrain/internal/browser"
	"redrain/internal/testenv"
)

// flown looks at what is drawn on the sky's canvas, and counts the pictures that come to the purse: nothing but
// coins does.
// byFrames(true) lets the page's time go on by so many milliseconds with each frame and not otherwise, so that also a
// machine that draws one in a second sees what flies for half of one; byFrames(false) lets it go by itself again. And
// what the card's sum has been is kept, what was said of a tap, and how often the tune of a great prize is played.
const flown = `(() => {
	globalThis.flown = 0, globalThis.prizes = 0;
	globalThis.rolled = new Set(), globalThis.said = new Set();
	const draw = CanvasRenderingContext2D.prototype.drawImage;
	CanvasRenderingContext2D.prototype.drawImage = function (...of) {
		draw.apply(this, of);
		if (this.canvas.id !== "rain") return;
		const scale = this.canvas.width / this.canvas.clientWidth, { e, f } = this.getTransform();
		const purse = document.getElementById("purse").getBoundingClientRect();
		if (Math.hypot(e / scale - purse.x - purse.width / 2, f / scale - purse.y - purse.height / 2) < 30) flown++;
	};
	const hz = AudioParam.prototype.setValueAtTime;
	AudioParam.prototype.setValueAtTime = function (value, at) {
		if (value === 2349) prizes++;
		return hz.call(this, value, at);
	};
	const now = performance.now.bind(performance);
	const each = 20;
	let [at, since, framed] = [0, 0, false];
	performance.now = () => framed ? at : at + now() - since;
	const frame = () => { if (framed) { at += each; requestAnimationFrame(frame); } };
	globalThis.byFrames = (on) => { [at, since, framed] = [performance.now(), now(), on]; frame(); return true; };
	addEventListener("DOMContentLoaded", () => {
		for (const [id, all] of [["card-amount", rolled], ["gain", said]])
			new MutationObserver(() => all.add(document.getElementById(id).textContent))
				.observe(document.getElementById(id), { childList: true, characterData: true, subtree: true });
	});
})()`

// TestDelight: coins fly to the purse from what was won, and from nothing else; the card's joy is by the
// share of the event that was won, whatever it is in yuan: its words, its beams, its tune. Who wants no motion
// has none.
func TestDelight(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	const average, large = 200, 20_000 // minor units a packet
	for _, c := range []struct {
		name              string
		average, amount   int
		calm              bool
		tier, prizes      int
		title, card, rays string
	}{
		{"less than most", average, 88, false, 1, 0, "Well caught", "none", "none"},
		{"more than most", average, 350, false, 2, 1, "A lucky hand", "block", "none"},
		{"a golden one", average, 888, false, 3, 2, "What a fortune", "block", "rays"},
		{"the same of a larger event", large, 888, false, 1, 0, "Well caught", "none", "none"},
		{"without motion", average, 888, true, 3, 2, "What a fortune", "block", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			f := newFake(t)
			f.about["budget"] = c.average * f.about["packets"].(int)
			o := chromium.Options{Home: f.URL, Device: chromium.Phone, Calm: c.calm, Scripts: []string{heard, flown}}
			p := openTab(t, f, o, chromium.Network)
			p.goIn("/?debug&campaign=c1")
			start := p.rains([3]int{700, 0, slowly})
			f.wave(1, start, [3]int{300, 0, slowly})
			f.setJudge(func(string) object { return object{"outcome": "empty"} })
			p.hitDrop(0, start, 700)
			p.Until("an empty one says so", `said.has("Empty")`)
			p.shows("gain", "") // its time is over
			if n := eval[int](p, `flown`); n != 0 {
				t.Errorf("%d pictures come to the purse from an empty packet", n)
			}
			f.setJudge(func(string) object { return f.won(1, c.amount) })
			eval[bool](p, `byFrames(true)`)
			p.hitDrop(1, start, 300)
			p.Until("the purse has it", `document.getElementById("purse").classList.contains("bump")`)
			if !c.calm {
				p.Until("coins come to the purse", `flown > 0`)
			}
			p.ends()
			if !c.calm {
				p.Until("the sum rolls", `rolled.size > 3`)
			}
			eval[bool](p, `byFrames(false)`)
			sum := fmt.Sprintf("¥%.2f", float64(c.amount)/100)
			p.shows("card-amount", sum)
			p.shows("card-title", c.title)
			p.State("card")
			got := eval[[]string](p, `[card.dataset.tier, ((s) => s.display + " " + s.animationName)(
				getComputedStyle(card.querySelector(".rays"))), String(prizes), String(rolled.size), String(flown)]`)
			want := fmt.Sprintf("%d %s %s %d", c.tier, c.card, c.rays, c.prizes)
			if said := strings.Join(got[:3], " "); said != want {
				t.Errorf("tier, beams and tunes are %q, want %q", said, want)
			}
			if c.calm && (len(got[3]) > 1 || got[3] > "2" || got[4] != "0") { // nothing, and then what was won
				t.Errorf("%s coins fly and %s sums are shown, and no motion is wanted", got[4], got[3])
			}
		})
	}
}
