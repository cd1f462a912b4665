package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

const (
	honestPlayers = 10
	// hostileTurn is how long players are measured with, and then without, hostile senders: short, so that whatever
	// else a machine does is the same in both.
	hostileTurn = 2 * time.Second
	// hostileRest is what the node has to get done with what was sent last.
	hostileRest = 300 * time.Millisecond
)

// honest are players who keep to the protocol, while others do not.
type honest struct {
	t        *testing.T
	n        *node
	campaign string
	players  []*player
	turn     atomic.Int64     // since when taps are of which turn, see play
	spent    [3]time.Duration // the node's processor time in turns 3n, 3n+1 and 3n+2
	lasted   time.Duration    // all turns of one kind

	mu   sync.Mutex
	took map[int64][]time.Duration // turn → how long the answers to its taps took
}

func newHonest(t *testing.T, n *node, campaign string) *honest {
	t.Helper()
	h := &honest{t: t, n: n, campaign: campaign, took: map[int64][]time.Duration{}}
	for i := range honestPlayers {
		h.players = append(h.players, join(t, n, fmt.Sprintf("honest-%d", i), campaign))
	}
	return h
}

// play has them play for a while, while the senders work and rest in turns. Turn 3n is without senders, 3n+1 with them,
// and 3n+2 is not measured. used is the node's processor time so far.
func (h *honest) play(length time.Duration, s *senders, used func() time.Duration) {
	h.t.Helper()
	phase := testenv.Random(h.t)
	s.rest()
	stop := make(chan struct{})
	var playing sync.WaitGroup
	playing.Go(func() { h.rain(stop) })
	for _, p := range h.players {
		own := rand.New(rand.NewPCG(phase.Uint64(), 0))
		playing.Go(func() { h.tap(p, own, stop) })
	}
	pause := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-s.p.Done(): // which fails the test
		}
	}
	turn := min(hostileTurn, length/10)
	last := used()
	over := func() {
		now := used()
		h.spent[(h.turn.Add(1)-1)%3] += now - last
		last = now
	}
	for until := time.Now().Add(length); time.Now().Before(until) && !h.t.Failed(); {
		pause(turn)
		over()
		s.work()
		pause(turn)
		over()
		s.rest()
		pause(hostileRest)
		over()
		h.lasted += turn
	}
	close(stop)
	playing.Wait()
}

// rain has one rain after another.
func (h *honest) rain(stop chan struct{}) {
	spec := rain.DefaultRain()
	soon := int64(0)
	spec.StartsInMS, spec.DurationMS, spec.DropsPerSecond, spec.FallMS = &soon, 5_000, 50, 5_000
	pace := time.NewTicker(2 * time.Second)
	defer pace.Stop()
	for {
		// One that runs already, or a campaign that somebody has paused, is as good: then taps are answered so.
		_, _ = h.n.client.StartRain(within(h.t, 20*time.Second), h.campaign, spec, "")
		select {
		case <-stop:
			return
		case <-pace.C:
		}
	}
}

// tap plays until the end: each tap is answered, and nobody is sent away. Players tap ten times a second, each when
// they like: of ten who tapped at the same moment one would say as much as all, and two such moments were the p99.
func (h *honest) tap(p *player, own *rand.Rand, stop chan struct{}) {
	for over := false; !over && !h.t.Failed(); {
		drop := p.lastDrop()
		turn, began := h.turn.Load(), time.Now()
		p.answered(h.t, p.tap(drop))
		h.answered(turn, time.Since(began))
		select {
		case <-stop:
			over = true
		case <-time.After(50*time.Millisecond + time.Duration(own.Int64N(int64(100*time.Millisecond)))):
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed != nil || len(p.errors) > 0 {
		h.t.Errorf("%s, who is honest: %v, %v", p.user, p.closed, p.errors)
	}
}

func (h *honest) answered(turn int64, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took[turn] = append(h.took[turn], took)
}

// compare holds the times with senders against those without, over all turns; and tells the median of the turns, which
// a machine that is busy with something else changes less.
func (h *honest) compare() {
	h.t.Helper()
	var alone, beside []time.Duration
	var halves, ends []float64
	for turn := int64(0); turn < h.turn.Load(); turn += 3 {
		quiet, loud := h.took[turn], h.took[turn+1]
		if len(quiet) == 0 || len(loud) == 0 {
			continue // the machine has stalled for that long
		}
		alone, beside = append(alone, quiet...), append(beside, loud...)
		halves = append(halves, float64(percentile(loud, 50))/float64(percentile(quiet, 50)))
		ends = append(ends, float64(percentile(loud, 99))/float64(percentile(quiet, 99)))
	}
	if len(ends) == 0 {
		if h.t.Log("nothing was measured"); *onQuiet {
			h.t.Fail()
		}
		return
	}
	h.t.Logf("the node used %.2f cores alone, %.2f beside", h.spent[0].Seconds()/h.lasted.Seconds(),
		h.spent[1].Seconds()/h.lasted.Seconds())
	slices.Sort(halves)
	slices.Sort(ends)
	h.t.Logf("%d turns, medians of the ratios in them: p50 %.2f, p99 %.2f; over all: p50 %s alone, %s beside",
		len(ends), halves[len(halves)/2], ends[len(ends)/2], percentile(alone, 50), percentile(beside, 50))
	compare(h.t, "honest players", percentile(alone, 99), percentile(beside, 99))
}

// lastDrop is a drop of the wave that the player has heard of last; "0.0" before the first.
func (p *player) lastDrop() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := int64(0)
	for n := range p.waves {
		last = max(last, n)
	}
	return strconv.FormatInt(last, 10) + ".0"
}

// percentile is a time that so many in a hundred were not above.
func percentile(took []time.Duration, percent int) time.Duration {
	slices.Sort(took)
	return took[(len(took)*percent-1)/100]
}
