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

// counts are the counts of one Play, except the first groups.
type counts struct {
	connected, pending int64 // now: players in a room, taps without a result

	// Since the last report.
	errors     map[string]int64 // the server's error messages, by code
	faults     map[string]int64 // violations of the protocol, in words
	closes     map[string]int64 // connections that the server closed, by code
	broken     int64            // connections
	reconnects int64

	played
}

// played holds the counts that begin with a Play.
type played struct {
	tapping  bool                    // taps are being sent
	latency  *hdrhistogram.Histogram // µs
	outcomes map[string]int64

	taps, answered, inTime, lost int64
	nothing, noPlayer            int64 // open loop: unsent taps, without a drop, without a player
	starvations                  int64 // closed loop: how often a player had nothing to tap
	starved                      time.Duration
	frames, waves, late          int64
	expected, received           int64 // waves
	settled                      int64 // claims
	left                         int64 // players who have left for good
}

func newPlayed() played {
	return played{latency: hdrhistogram.New(fastest, slowest, digits), outcomes: map[string]int64{}}
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
	c.answered++
	c.pending--
	if c.tapping {
		c.inTime++
	}
	c.outcomes[outcome]++
	_ = c.latency.RecordValue(min(max(took.Microseconds(), fastest), slowest)) // it is in the range
}

// record stores a reported win.
func (t *tally) record(w Win) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = append(t.told, w)
}

// begin starts the counts of a Play.
func (t *tally) begin() {
	t.count(func(c *counts) {
		c.played = newPlayed()
		c.tapping = true
	})
}

// end is called when no more taps are sent.
func (t *tally) end() { t.count(func(c *counts) { c.tapping = false }) }

// take returns the counts since the last call, and resets them.
func (t *tally) take() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	t.counts = counts{connected: c.connected, pending: c.pending, errors: map[string]int64{},
		faults: map[string]int64{}, closes: map[string]int64{}, played: newPlayed()}
	return c
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
		g.Connected, g.Taps, g.Answered, g.Won = int(t.connected), t.taps, t.answered, t.outcomes[won]
		g.Settled, g.Pending, g.Reconnects, g.Faults = t.settled, t.pending, t.reconnects, sum(t.faults)
	})
	return g
}

func sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// Turn is a player's state in the waiting room of a full campaign.
type Turn struct {
	Admitted bool
	Position int           // from 1
	Retry    time.Duration // time until the next request, after which the position is lost
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
