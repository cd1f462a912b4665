package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/wire"
	"redrain/internal/ws"
)

// A player taps what is in the air and no decoy, in rising order, each drop once, and one tap at a time.
func TestClosedLoopTapsWhatIsInTheAir(t *testing.T) {
	r := newRig(t, 1)
	r.at(1_000)
	r.start(Plan{Duration: time.Minute}, r.now)
	if len(r.sent) > 0 {
		t.Fatalf("taps before any wave: %v", r.drops())
	}
	r.tell(0, aWave(2, 400, 900), aWave(4, 2_000, -2_000, 2_000)) // at 500 and 1000; 2.0 landed at 900
	r.at(1_004)
	r.wakeUp()
	r.tell(0, aWave(4, 2_000, -2_000, 2_000), aWave(6, 1_000)) // once more, and one that comes at 1500
	for n := range 2 {
		r.at(1_010 + int64(n))
		r.answer(n, "empty")
	}
	if diff := cmp.Diff([]string{"2.1", "4.0", "4.2"}, r.drops()); diff != "" {
		t.Error(diff)
	}
	r.at(1_100)
	r.answer(2, "won") // now there is nothing to tap until 1505
	if r.players[0].starvedSince == 0 {
		t.Error("the player does not starve")
	}
	r.at(1_504)
	r.wakeUp()
	if len(r.sent) != 3 {
		t.Errorf("a tap on a drop that is not there yet: %v", r.drops())
	}
	r.at(1_505)
	r.wakeUp()
	if diff := cmp.Diff([]string{"2.1", "4.0", "4.2", "6.0"}, r.drops()); diff != "" {
		t.Error(diff)
	}
	r.stop() // it starved before the first wave, which came at once, and then
	if got := time.Duration(r.tally.starvedNS); r.tally.starvations != 2 || got != 405*time.Millisecond {
		t.Errorf("starved %d times for %s", r.tally.starvations, got)
	}
}

// After a result the player thinks; and a wave that comes while it does makes it no faster.
func TestThinking(t *testing.T) {
	r := newRig(t, 1)
	r.at(1_000)
	r.tell(0, aWave(3, 9_000, 9_000))
	r.start(Plan{Duration: time.Minute, Think: 300 * time.Millisecond}, r.now)
	first := r.loop.alarms[0].at
	if first < r.now || first >= r.now+int64(300*time.Millisecond) {
		t.Errorf("the first tap comes after %s", time.Duration(first-r.now))
	}
	r.at(1_300)
	r.wakeUp()
	r.at(1_400)
	r.answer(0, "empty")
	r.tell(0, aWave(5, 9_000))
	r.at(1_699)
	r.wakeUp()
	if len(r.sent) != 1 {
		t.Fatalf("taps without a thought: %v", r.drops())
	}
	r.at(1_700)
	r.wakeUp()
	if diff := cmp.Diff([]string{"3.0", "3.1"}, r.drops()); diff != "" {
		t.Error(diff)
	}
}

// In an open loop a tap's time counts from when it was due. A server (or a generator) that stands still for a
// second is charged for all the taps of that second.
func TestOpenLoopIsCorrectedForCoordinatedOmission(t *testing.T) {
	r := newRig(t, 10)
	r.at(1_000)
	falls := slices.Repeat([]int{20_000}, 100)
	for p := range r.players {
		r.tell(p, aWave(0, falls...), aWave(1, falls...))
	}
	r.start(Plan{Duration: time.Minute, Rate: 100}, r.now)
	for range 10 { // 100 ms at 100 taps a second, each answered in 1 ms
		if wait := time.Duration(r.keepPace() - r.now); wait != 10*time.Millisecond {
			t.Fatalf("the next tap is due in %s", wait)
		}
		r.at(r.now/int64(time.Millisecond) + 1)
		r.answer(len(r.sent)-1, "empty")
		r.at(r.now/int64(time.Millisecond) + 9)
	}
	if most := r.tally.latency.Max(); most > 1_001 {
		t.Errorf("the longest is %d µs", most)
	}
	r.at(2_100) // the loop was held up for a second: a hundred taps are due
	r.keepPace()
	r.keepPace() // it looks at its sockets in between
	if len(r.sent) != 111 {
		t.Fatalf("%d taps", len(r.sent))
	}
	for n := 10; n < 111; n++ {
		r.answer(n, "empty")
	}
	// The one that was due first took the whole second, the last one nothing; so half of all took more than 450 ms.
	h := r.tally.latency
	if p50, most := h.ValueAtQuantile(50), h.Max(); p50 < 440_000 || p50 > 460_000 || most < 999_000 ||
		most > 1_001_000 {
		t.Errorf("p50 %d µs, max %d µs", p50, most)
	}
	turns := map[int]int{}
	for _, s := range r.sent {
		turns[s.player]++
	}
	if len(turns) != 10 || slices.Max(slices.Collect(values(turns))) > 12 {
		t.Errorf("the players' turns: %v", turns)
	}
}

func values[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// What is due and cannot be sent is counted by its reason.
func TestOpenLoopCountsWhatItCannotSend(t *testing.T) {
	r := newRig(t, 2)
	r.at(1_000)
	r.start(Plan{Duration: time.Minute, Rate: 10}, r.now)
	r.keepPace()
	for _, p := range r.players {
		r.gone(p, ws.ErrFrame)
	}
	r.at(1_100)
	r.keepPace()
	if r.tally.nothing != 1 || r.tally.nobody != 1 || r.tally.taps != 0 {
		t.Errorf("nothing %d, nobody %d, taps %d", r.tally.nothing, r.tally.nobody, r.tally.taps)
	}
}

// The rates of the loops add up, whatever their shares of the players.
func TestPacesAddUp(t *testing.T) {
	total := 0.0
	for _, players := range []int{1, 2, 4} {
		c := newPace(700, players, 7, 0)
		total += float64(time.Second) / c.every
	}
	if total < 699.9 || total > 700.1 {
		t.Errorf("%f taps a second", total)
	}
}

// Results may come in any order, and one that nobody asked for is a fault.
func TestResultsInAnyOrder(t *testing.T) {
	r := newRig(t, 1)
	r.at(1_000)
	r.tell(0, aWave(0, 9_000, 9_000, 9_000))
	r.start(Plan{Duration: time.Minute, Rate: 1_000}, r.now)
	for i := range int64(3) {
		r.at(1_000 + i)
		r.keepPace()
	}
	for _, n := range []int{1, 2, 0} {
		r.answer(n, fmt.Sprintf("outcome %d", n))
	}
	r.answer(0, "won")
	r.stop()
	want := map[string]int64{"outcome 0": 1, "outcome 1": 1, "outcome 2": 1}
	if diff := cmp.Diff(want, r.tally.other); diff != "" || r.tally.answered != 3 || len(r.players[0].pending) != 0 {
		t.Errorf("%d answered: %s", r.tally.answered, diff)
	}
	if r.tally.faults["a result that belongs to no tap"] != 1 {
		t.Errorf("faults %v", r.tally.faults)
	}
}

// What a server answers when nobody taps any more is what it has fallen behind with: it is no part of its rate.
func TestRateCountsWhatCameInTime(t *testing.T) {
	r := newRig(t, 1)
	r.at(1_000)
	r.tell(0, aWave(3, 9_000, 9_000, 9_000))
	r.start(Plan{Duration: time.Second, Rate: 3}, r.now)
	r.at(2_000)
	r.keepPace()
	r.answer(0, "empty")
	r.stop()
	for n := 1; n < len(r.sent); n++ {
		r.answer(n, "empty")
	}
	got := &Report{Took: time.Second, Outcomes: map[string]int64{}}
	got.take(r.tally)
	if got.Answered != 3 || got.TapsPerSecond() != 1 {
		t.Errorf("%d answered, %v in a second", got.Answered, got.TapsPerSecond())
	}
}

// A result is the player's own: for the drop that was tapped, and with the claim of a win and no other.
func TestResultsThatAreWrong(t *testing.T) {
	for name, change := range map[string]func(*wire.Result){
		"of another drop":     func(m *wire.Result) { m.Drop = "3.1" },
		"a win without claim": func(m *wire.Result) { m.Claim = "" },
		"a claim without win": func(m *wire.Result) { m.Outcome = "empty" },
		"":                    func(*wire.Result) {},
	} {
		r := newRig(t, 1)
		r.at(1_000)
		r.tell(0, aWave(3, 9_000, 9_000))
		r.start(Plan{Duration: time.Second}, r.now)
		m := wire.Result{Type: wire.TypeResult, ID: r.sent[0].req.ID, Drop: r.sent[0].req.Drop, Outcome: won, Amount: 1,
			Packet: "1", Claim: "c1-1"}
		change(&m)
		r.tell(0, m)
		if faulty := len(r.tally.faults) > 0; faulty != (name != "") {
			t.Errorf("%q: faults %v", name, r.tally.faults)
		}
	}
}
