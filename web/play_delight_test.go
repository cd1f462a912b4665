package web_test

import (
	"fmt"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
)

// TestDelight: the card's joy is by the share of the event that was won, whatever it is in yuan: its words and its
// beams, which do not move for players who want no motion.
func TestDelight(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	const average, large = 200, 20_000 // minor units a packet
	for _, c := range []struct {
		name            string
		average, amount int
		calm            bool
		title, rays     string
	}{
		{"less than most", average, 88, false, "Congratulations!", "1 none none"}, //nolint:dupword // CSS
		{"more than most", average, 350, false, "Lucky you!", "2 block none"},
		{"a golden one", average, 888, false, "Jackpot!", "3 block rays"},
		{"of a larger event", large, 888, false, "Congratulations!", "1 none none"}, //nolint:dupword // values of CSS
		{"without motion", average, 888, true, "Jackpot!", "3 block none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			f := newFake(t)
			f.about["budget"] = c.average * f.about["packets"].(int)
			f.judge = func(string) object { return f.won(1, c.amount) }
			p := openTab(t, f, chromium.Options{Device: chromium.Phone, Calm: c.calm}, chromium.Network)
			p.goIn("/?debug&campaign=c1")
			start := p.rains([3]int{300, 0, slowly})
			p.hitDrop(0, start, 300)
			p.ends()
			p.shows("card-amount", fmt.Sprintf("¥%.2f", float64(c.amount)/100))
			p.shows("card-title", c.title)
			p.State("card")
			if got := eval[string](p, `((s) => card.dataset.tier + " " + s.display + " " + s.animationName)(
				getComputedStyle(card.querySelector(".rays")))`); got != c.rays {
				t.Errorf("tier and beams are %q, want %q", got, c.rays)
			}
		})
	}
}
