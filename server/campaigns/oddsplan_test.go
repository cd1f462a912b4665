package campaigns

import (
	"math/rand/v2"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// autoRain is a rain of some seconds whose odds are set while it falls.
func autoRain(seconds int64) *rain.Rain {
	r := &rain.Rain{ID: "r", StartsAt: 1_000_000, Settings: rain.DefaultRain().Settings}
	r.DurationMS, r.Odds = seconds*1_000, rain.OddsAuto
	return r
}

// oddsPlayed plays a rain of some seconds, and sets the odds from beat to beat as Odds does. Each lane has a crowd;
// taps is the chance that a player taps in a beat. ended has, for each lane, the part of the rain's beats with stock:
// above 1 if some is left. lanes has the remaining stock.
func oddsPlayed(t *testing.T, seconds int64, packets []int, online func(lane int, part float64) int,
	taps func(part float64) float64, seed uint64) (ended []float64, lanes []lane) {
	t.Helper()
	r := autoRain(seconds)
	dice, k := rand.New(rand.NewPCG(seed, 7)), newCrowds()
	for _, n := range packets {
		ended, lanes = append(ended, 2), append(lanes, lane{left: n})
	}
	for now := r.StartsAt - 10_000; now < r.StartsAt+r.DurationMS; now += 250 {
		beat, part := r.BeatOf(now), float64(now-r.StartsAt)/float64(r.DurationMS)
		if now >= r.StartsAt-2_800 { // they come in the countdown
			for i := range lanes {
				lanes[i].online = int64(online(i, max(part, 0)))
			}
		}
		if next, ok := k.next(r, lanes, now); ok {
			testenv.Must(t, r.SetOdds(next, now))
		}
		if beat < 0 || now != r.BeatAt(beat) {
			continue
		}
		for i := range lanes {
			l, chance := &lanes[i], taps(part)*float64(r.OddsOf(beat, rain.Lane(i)))/float64(rain.OddsOne)
			for range l.online {
				if dice.Float64() < chance && l.left > 0 {
					l.won, l.left = l.won+1, l.left-1
				}
			}
			if l.left == 0 && ended[i] > 1 {
				ended[i] = float64(beat+1) / float64(r.Beats())
			}
		}
	}
	return ended, lanes
}

func always(p float64) func(float64) float64 { return func(float64) float64 { return p } }

// TestTheStockEndsWithTheRain: for any crowd the stock ends in the last tenth of the rain, or less than a hundredth is
// left.
func TestTheStockEndsWithTheRain(t *testing.T) {
	t.Parallel()
	steady := func(n int) func(float64) int { return func(float64) int { return n } }
	for name, tc := range map[string]struct {
		seconds int64
		packets int
		online  func(float64) int
		taps    func(float64) float64
	}{
		"a hall":        {60, 5_000, steady(2_000), always(0.9)},
		"a large one":   {60, 20_000, steady(20_000), always(0.9)},
		"a long rain":   {600, 20_000, steady(1_000), always(0.8)},
		"half a minute": {30, 1_000, steady(500), always(0.9)},
		"growing":       {60, 5_000, func(p float64) int { return 200 + int(3_000*p) }, always(0.9)},
		"growing at once": {60, 5_000, func(p float64) int { return map[bool]int{true: 3_000, false: 300}[p > 0.4] },
			always(0.9)},
		"shrinking":      {60, 5_000, func(p float64) int { return 3_000 - int(2_500*p) }, always(0.9)},
		"sleepy":         {60, 2_000, steady(2_000), always(0.15)},
		"falling asleep": {60, 5_000, steady(3_000), func(p float64) float64 { return 0.9 - 0.7*p }},
		"waking up":      {60, 5_000, steady(3_000), func(p float64) float64 { return 0.2 + 0.7*p }},
	} {
		for seed := range uint64(10) {
			ended, lanes := oddsPlayed(t, tc.seconds, []int{tc.packets},
				func(_ int, part float64) int { return tc.online(part) }, tc.taps, seed)
			if ended[0] < 0.9 || ended[0] > 1 && lanes[0].left > tc.packets/100 {
				t.Errorf("%s, seed %d: ended at %.2f, %d of %d left", name, seed, ended[0], lanes[0].left, tc.packets)
			}
		}
	}
}

// TestTooFewForTheStock: where everybody could win in each beat and something would be left, everybody does.
func TestTooFewForTheStock(t *testing.T) {
	t.Parallel()
	ended, lanes := oddsPlayed(t, 60, []int{5_000}, func(int, float64) int { return 10 }, always(1), 1)
	if left := lanes[0].left; ended[0] <= 1 || left > 5_000-550 {
		t.Errorf("ended at %.2f, %d left: 10 players win at most 600", ended[0], left)
	}
}

// TestEachLaneEndsWithTheRain: guests and players draw by odds of their own, so neither lane's packets end before the
// rain. This holds for any ratio of the two. One chance for both sold a tenth of the packets to as many guests as
// players in a fifth of the rain.
func TestEachLaneEndsWithTheRain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ heads, packets [rain.LaneCount]int }{
		"as many guests":   {[...]int{1_000, 1_000}, [...]int{4_500, 500}},
		"more guests":      {[...]int{200, 2_000}, [...]int{4_500, 500}},
		"few guests":       {[...]int{2_000, 50}, [...]int{2_500, 2_500}},
		"the same of each": {[...]int{1_000, 1_000}, [...]int{2_500, 2_500}},
	} {
		for seed := range uint64(5) {
			ended, lanes := oddsPlayed(t, 60, tc.packets[:], func(lane int, _ float64) int { return tc.heads[lane] },
				always(0.9), seed)
			for i, l := range lanes {
				everybody := tc.heads[i]*54 < tc.packets[i] // then all win whenever they draw, and something is left
				if ended[i] < 0.9 || ended[i] > 1 && l.left > max(tc.packets[i]/50, 5) && !everybody {
					t.Errorf("%s, seed %d, lane %d: ended at %.2f, %d of %d left", name, seed, i, ended[i], l.left,
						tc.packets[i])
				}
			}
		}
	}
}

// TestALateWinIsNoCrowd: a win that was counted after beats of almost no odds passed for a million draws. The odds then
// did not change until the end of the rain, and a fifth of the packets was left.
func TestALateWinIsNoCrowd(t *testing.T) {
	t.Parallel()
	r := autoRain(30)
	const players = 50
	least := rain.OddsFrom{Beat: 8, Odds: 1}
	for _, set := range []rain.OddsFrom{{Beat: 0, Odds: rain.OddsOne / 10}, least} {
		testenv.Must(t, r.SetOdds(set, r.BeatAt(set.Beat)-2*rain.OddsLeadMS))
	}
	k, won := &crowd{}, 0
	for beat := range int64(12) {
		k.note(r, beat, won, players)
		switch {
		case beat < least.Beat:
			won += 4
		case beat == 10:
			won++
		}
	}
	next, ok := k.next(r, 25, players, r.BeatAt(12))
	if !ok || next.Odds < rain.OddsOne/100 || next.Odds > rain.OddsOne/10 {
		t.Errorf("%v, %v: 25 packets for 50 players are left, and some 14 beats", next.Odds, ok)
	}
}
