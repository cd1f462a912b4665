package risk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

const rainStarts = 1_000_000

// campaign has one rain of a minute, with eight drops in each second.
func campaign() *rain.Campaign {
	return &rain.Campaign{Rains: []rain.Rain{{
		StartsAt: rainStarts, Settings: rain.Settings{DurationMS: 60_000, DropsPerSecond: 8, FallMS: 4_000},
	}}}
}

func watch(t *testing.T, now *int64) (*Watch, *book) {
	t.Helper()
	all, _, b := nodes(t, 1, now)
	return all[0], b
}

func look(t *testing.T, w *Watch) {
	t.Helper()
	testenv.Must(t, w.Look(t.Context()))
}

// tapWave taps a drop of a wave some milliseconds after it has opened.
func tapWave(h *Hand, c *rain.Campaign, wave, after int64) {
	h.Tap(c, rain.DropID{N: wave}, rainStarts+wave*rain.WaveMS+after)
}

// The fastest program is found within its first second, wherever it plays; one that waits always the same time a
// little later.
func TestBotsAreFound(t *testing.T) {
	now := int64(rainStarts)
	w, b := watch(t, &now)
	c := campaign()
	fast, steady := w.Hand(Caller{User: "fast", Address: "a"}), w.Hand(Caller{User: "steady", Address: "b"})
	for wave := range int64(12) {
		if wave < 6 {
			tapWave(fast, c, wave, 1)
		}
		tapWave(steady, c, wave, 300+wave%2*5)
		look(t, w)
		if _, found := b.of["fast"]; found != (wave >= 5) {
			t.Errorf("wave %d: the fast one is found: %v", wave, found)
		}
	}
	if v := b.of["fast"]; v.Act != standing.Hold || standing.ParseReasons(v.Reasons)[0].Rule != "fast_hands" {
		t.Errorf("%+v", v)
	}
	if v := b.of["steady"]; v.Act != standing.Hold || standing.ParseReasons(v.Reasons)[0].Rule != "steady_hands" {
		t.Errorf("%+v", v)
	}
}

// People who tap three times a second, in a hall with one address, are never held. Adults take 250 to 600 ms. Trained
// children take 180 ms and differ by 25 ms.
func TestPeopleAreNotHeld(t *testing.T) {
	random := testenv.Random(t)
	now := int64(rainStarts)
	w, b := watch(t, &now)
	for rains := range 10 {
		c := campaign()
		for i := range 100 {
			child := i%4 == 0
			h := w.Hand(Caller{User: fmt.Sprint(rains, " ", i), Address: "the hall", Issued: rainStarts})
			h.Won()
			for wave := int64(0); wave < 100; wave += 1 + random.Int64N(2) {
				tapWave(h, c, wave, people(random, child))
			}
		}
		look(t, w)
	}
	if len(b.of) > 0 {
		t.Errorf("%d of 1000 people are held", len(b.of))
	}
}

// Slow people are not held, nor people with a keyboard, a delaying network or a wrong clock. They also share an address
// and have new accounts. This holds for ten rains.
func TestSlowPeopleAreNotHeld(t *testing.T) {
	random := testenv.Random(t)
	between := func(least, most int64) func() int64 {
		return func() int64 { return least + random.Int64N(most-least+1) }
	}
	for name, kind := range map[string]struct {
		every int64        // waves from one tap to the next
		after func() int64 // ms from the opening of its drop
	}{
		"needs 800 ms, one a second": {4, between(600, 1_000)},
		"one in five seconds":        {20, between(900, 3_500)},
		// Space takes the lowest packet, which is in sight after a third of a second, at the next press.
		"hammers on Space":       {1, func() int64 { return between(290, 480)() + between(0, 80)() }},
		"steers with the arrows": {6, between(700, 2_800)},
		"a network that jitters": {2, func() int64 {
			return between(250, 600)() + int64(random.ExpFloat64()*200)
		}},
		"a network that holds back":    {1, func() int64 { return between(250, 600)() + between(0, 1_000)() }},
		"a clock that is 200 ms late":  {2, func() int64 { return between(250, 600)() - 200 }},
		"a clock that is 300 ms early": {2, func() int64 { return between(250, 600)() + 300 }},
		// Of those who tap to music the best differ by some 20 ms.
		"taps to the beat of the music": {2, func() int64 { return 410 + int64(random.NormFloat64()*25) }},
	} {
		now := int64(rainStarts)
		w, b := watch(t, &now)
		for range 10 {
			c := campaign()
			for i := range 100 {
				h := w.Hand(Caller{User: fmt.Sprint(i), Address: "the hall", Issued: rainStarts})
				h.Won()
				for wave := random.Int64N(kind.every); wave < 240; wave += kind.every {
					tapWave(h, c, wave, kind.after())
				}
			}
			look(t, w)
		}
		for user, v := range b.of {
			t.Errorf("%s: %s is held: %s", name, user, v.Reasons)
			break
		}
	}
}

func people(random *rand.Rand, child bool) int64 {
	if child {
		return int64(max(180+random.NormFloat64()*25, 120))
	}
	return 250 + random.Int64N(350)
}

// A verdict that cannot be written is kept and written later. An unchanged verdict is written once.
func TestVerdictsAreKeptUntilTheyAreWritten(t *testing.T) {
	now := int64(rainStarts)
	w, b := watch(t, &now)
	h := w.Hand(Caller{User: "bot"})
	for wave := range int64(6) {
		tapWave(h, campaign(), wave, 1)
	}
	b.fails = errors.New("the database is down")
	if w.Look(t.Context()) == nil {
		t.Error("it was not said that the database is down")
	}
	b.fails = nil
	look(t, w)
	if len(b.of) != 1 {
		t.Errorf("verdicts %+v", b.of)
	}
	clear(b.of)
	tapWave(h, campaign(), 6, 1)
	look(t, w)
	if len(b.of) != 0 {
		t.Errorf("again %+v", b.of)
	}
}

// A player who taps by hand first, and by program then, is soon judged by the program. A tap allocates no memory.
func TestOldTapsFade(t *testing.T) {
	now := int64(rainStarts)
	w, b := watch(t, &now)
	h := w.Hand(Caller{User: "cunning"})
	for wave := range int64(100) {
		tapWave(h, campaign(), wave, 250+wave*37%300)
	}
	look(t, w)
	if len(b.of) != 0 {
		t.Errorf("by hand: %+v", b.of)
	}
	for wave := int64(100); wave < 170; wave++ {
		tapWave(h, campaign(), wave, 1)
	}
	look(t, w)
	if len(b.of) != 1 {
		t.Error("the program is not found")
	}
	c := campaign()
	if n := testing.AllocsPerRun(100, func() { tapWave(h, c, 180, 1) }); n != 0 {
		t.Errorf("a tap allocates %v times", n)
	}
}

// A late tap does not count for a hand. A tap on a packet that is not yet visible does. Taps without a rain are
// ignored, and so are taps without a Watch.
func TestTapsBesideTheRain(t *testing.T) {
	now := int64(rainStarts)
	w, _ := watch(t, &now)
	h := w.Hand(Caller{User: "u"})
	c := campaign()
	tapWave(h, c, 0, 4_600)
	h.Tap(&rain.Campaign{}, rain.DropID{}, rainStarts)
	h.Tap(nil, rain.DropID{}, rainStarts)
	h.Tap(c, rain.DropID{}, rainStarts-1)
	if s := h.look().sums; s != (sums{}) {
		t.Errorf("%+v", s)
	}
	tapWave(h, c, 9, -1)
	h.Tap(c, rain.DropID{N: 9999}, rainStarts+1)
	if s := h.look().sums; s != (sums{Astray: 2}) {
		t.Errorf("%+v", s)
	}
	var nobody *Watch
	tapWave(nobody.Hand(Caller{User: "u"}), c, 0, 1)
	nobody.Hand(Caller{}).Won()
}

// Many sockets tap while the watch looks.
func TestTapsAtOnce(t *testing.T) {
	now := int64(rainStarts)
	w, b := watch(t, &now)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := campaign()
			for wave := range int64(60) {
				tapWave(w.Hand(Caller{User: fmt.Sprint("u", i%4), Address: "a", Session: "s"}), c, wave, 1)
			}
		})
	}
	for range 50 {
		look(t, w)
	}
	wg.Wait()
	look(t, w)
	if len(b.of) != 4 {
		t.Errorf("verdicts %+v", b.of)
	}
}

// A second opinion replaces that of the rules. It is requested once for each finding, even if it cannot be written at
// first. Without one the rules count.
func TestSecondOpinion(t *testing.T) {
	now := int64(rainStarts)
	w, b := watch(t, &now)
	b.fails = errors.New("the database is down")
	asked := map[string]int{}
	w.o.Second = func(_ context.Context, suspects []Suspect) map[string]standing.Verdict {
		said := map[string]standing.Verdict{}
		for _, s := range suspects {
			asked[s.User]++
			if s.Act != standing.Hold || s.Score < 60 || s.Campaign != "c" || s.Session != "s" {
				t.Errorf("%+v", s)
			}
			if s.User != "unknown" {
				said[s.User] = standing.Verdict{User: s.User, Act: standing.VerdictAct(s.User)}
			}
		}
		return said
	}
	c := campaign()
	c.ID = "c"
	for _, user := range []string{"allow", "deny", "unknown"} {
		h := w.Hand(Caller{User: user, Address: user, Session: "s"})
		for wave := range int64(8) {
			tapWave(h, c, wave, 1)
		}
	}
	for range 3 {
		if err := w.Look(t.Context()); err == nil {
			t.Error("no error, and nothing was written")
		}
	}
	b.fails = nil
	look(t, w)
	look(t, w)
	for user, want := range map[string]standing.Verdict{"allow": {Act: standing.Allow, By: ledger.ByService},
		"deny": {Act: standing.Deny, By: ledger.ByService}, "unknown": {Act: standing.Hold, By: ledger.ByRules}} {
		if v := b.of[user]; v.Act != want.Act || v.By != want.By || asked[user] != 1 {
			t.Errorf("%s: %+v, asked %d times", user, v, asked[user])
		}
	}
	if len(w.untold) != 0 {
		t.Errorf("still to be written: %v", w.untold)
	}
}
