package bench

import (
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"redrain/rain"
)

const won = "won"

// Win is a win that was reported to a player.
type Win struct {
	Player int
	Claim  string
	Amount rain.Money
}

// tally holds the counts of all players.
type tally struct {
	mu     sync.Mutex
	counts counts
	told   []Win // from Gather on
}

// counts are a report in the making.
type counts struct {
	Report
	connected, pending int64 // now: players in a room, taps without a result
	tapping            bool  // taps are being sent
	inTime             int64 // answers meanwhile
}

func newReport() Report {
	return Report{Problems: []string{}, Outcomes: map[string]int64{}, Closes: map[string]int64{},
		Errors: map[string]int64{}, Faults: map[string]int64{}, Times: hdrhistogram.New(fastest, slowest, digits)}
}

// The range of the histogram, in microseconds, and its precision.
const (
	fastest = 1
	slowest = 3_600_000_000 // an hour
	digits  = 3
)

// count changes the counts.
func (t *tally) count(f func(*counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.counts)
}

// answer counts the result of a tap.
func (t *tally) answer(outcome string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.counts
	c.Answered++
	c.pending--
	if c.tapping {
		c.inTime++
	}
	c.Outcomes[outcome]++
	_ = c.Times.RecordValue(min(max(took.Microseconds(), fastest), slowest)) // it is in the range
}

// record stores a reported win.
func (t *tally) record(w Win) { t.count(func(*counts) { t.told = append(t.told, w) }) }

// begin starts the counts of a Play. Those of connections and faults begin with the last report.
func (t *tally) begin() {
	t.count(func(c *counts) {
		before := c.Report
		c.Report, c.inTime, c.tapping = newReport(), 0, true
		c.Broken, c.Reconnects, c.Closes = before.Broken, before.Reconnects, before.Closes
		c.Errors, c.Faults = before.Errors, before.Faults
	})
}

// end is called when no more taps are sent.
func (t *tally) end() { t.count(func(c *counts) { c.tapping = false }) }

// take returns the counts since the last call, and resets them.
func (t *tally) take() (taken counts) {
	t.count(func(c *counts) {
		taken = *c
		*c = counts{connected: c.connected, pending: c.pending, Report: newReport()}
	})
	return taken
}

// Progress is the current state. Its counts begin with Play.
type Progress struct {
	Joined     int   // players who have ever joined
	Connected  int   // players who are in a room now
	Taps       int64 // sent
	Answered   int64
	Won        int64
	Settled    int64 // claims reported as settled
	Pending    int64 // taps without a result yet
	Reconnects int64
	Faults     int64 // of the protocol
}

// Progress returns the current state. It may be called while Play runs.
func (c *Crowd) Progress() Progress {
	c.mu.Lock()
	g := Progress{Joined: c.joined}
	c.mu.Unlock()
	c.tally.count(func(t *counts) {
		g.Connected, g.Taps, g.Answered, g.Won = int(t.connected), t.Taps, t.Answered, t.Outcomes[won]
		g.Settled, g.Pending, g.Reconnects, g.Faults = t.Settled, t.pending, t.Reconnects, Sum(t.Faults)
	})
	return g
}

// Sum returns the sum of counts.
func Sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// waitingRoom holds the players who had to wait for a slot, and their order of joining.
type waitingRoom struct {
	mu      sync.Mutex
	since   map[int]time.Time
	order   map[int]int // by player: number of earlier ones
	entered []int       // players
	waits   []time.Duration
}

// wait records that a player has to wait. It returns true for the first time.
func (w *waitingRoom) wait(player int) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.since[player]; known {
		return false
	}
	if w.since == nil {
		w.since, w.order = map[int]time.Time{}, map[int]int{}
	}
	w.since[player], w.order[player] = time.Now(), len(w.order)
	return true
}

// enter records the first join of a player. It returns true if the player had to wait.
func (w *waitingRoom) enter(player int) (waited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, waited := w.since[player]
	if waited {
		w.entered, w.waits = append(w.entered, player), append(w.waits, time.Since(since))
	}
	return waited
}

// report returns the summary.
func (w *waitingRoom) report() Waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := Waiting{Waited: len(w.order), Admitted: len(w.entered)}
	n := len(w.entered)
	if n == 0 {
		return r
	}
	astray := make([]int, n)
	for i, p := range w.entered {
		astray[i] = max(w.order[p]-i, i-w.order[p])
	}
	waits := slices.Sorted(slices.Values(w.waits))
	slices.Sort(astray)
	r.P50, r.Max = waits[n/2].Milliseconds(), waits[n-1].Milliseconds()
	r.AstrayP90, r.AstrayMax = astray[n*9/10], astray[n-1]
	return r
}
