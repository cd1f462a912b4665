package bench

import (
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is what came of a Play.
type Report struct {
	Players   int
	Joined    int            // of them, ever
	Failed    map[string]int // why others did not, and how many; those who are still trying are in neither
	Took      time.Duration  // in which taps were sent
	Processor time.Duration  // that this process used meanwhile

	Taps       int64 // sent
	Answered   int64 // by a result
	InTime     int64 // of those, before the last tap was sent: what a server has fallen behind with comes later
	Outcomes   map[string]int64
	Errors     map[string]int64        // taps answered by an error, and other errors, by code
	Lost       int64                   // taps whose connection ended before the answer
	Unanswered int64                   // taps that waited in vain
	Latency    *hdrhistogram.Histogram // of answered taps, in µs; see Plan.Rate

	Starvations int64         // closed loop: how often a player had nothing to tap
	Starved     time.Duration // and for how long, all players together
	NothingDue  int64         // open loop: taps not sent, as nothing was in the air
	NobodyThere int64         // open loop: taps not sent, as nobody was connected

	Frames        int64           // messages received
	Waves         int64           // of them
	WavesExpected int64           // whose moment was in the time of the Play, and in that in which the player was there
	WavesReceived int64           // of those
	WavesLate     int64           // that came after their moment
	WaveSpreads   []time.Duration // of each new wave, from the first player who got it to the last, in rising order
	Settled       int64           // claims that players were told to be money

	Waited Waited // for seats, from Gather on
	Left   int64  // players who have gone for good, as the plan says

	Reconnects int64
	Broken     int64            // connections that broke
	Closes     map[int]int64    // connections that the server closed, by code
	Faults     map[string]int64 // what broke the protocol, in words
	// every win that a player was told of, from Gather on; one that was told again is there again
	Told []Win
}

// TapsPerSecond is how many taps were answered in a second, as long as taps were sent.
func (r *Report) TapsPerSecond() float64 { return float64(r.InTime) / r.Took.Seconds() }

// report collects what the loops have counted, and has them begin anew.
func (c *Crowd) report(begin int64, took, processor time.Duration) *Report {
	all := newTally()
	r := &Report{Players: c.options.Players, Took: took, Processor: processor, Failed: map[string]int{},
		Outcomes: map[string]int64{}}
	first, last := map[waveID]int64{}, map[waveID]int64{}
	for _, l := range c.loops {
		l.call(func() {
			all.merge(l.tally)
			l.tally = newTally()
			r.Told = append(r.Told, l.told.list()...)
			for _, p := range l.players {
				r.Unanswered += int64(len(p.pending))
			}
			for campaign, s := range l.views {
				s.spread(campaign, begin, first, last)
			}
		})
	}
	for id, at := range first {
		r.WaveSpreads = append(r.WaveSpreads, time.Duration(last[id]-at))
	}
	slices.Sort(r.WaveSpreads)
	c.mu.Lock()
	r.Joined = c.joined
	maps.Copy(r.Failed, c.failed)
	c.mu.Unlock()
	r.Waited = c.queue.waited()
	r.take(all)
	return r
}

// waveID names a wave of any campaign.
type waveID struct {
	campaign string
	n        int64
}

// spread notes when the new waves came to the first and the last player.
func (s *view) spread(campaign string, begin int64, first, last map[waveID]int64) {
	for _, w := range s.waves {
		if w.first < begin || w.last == 0 {
			continue
		}
		id := waveID{campaign, w.n}
		if at, ok := first[id]; !ok || w.first < at {
			first[id] = w.first
		}
		last[id] = max(last[id], w.last)
	}
}

func (r *Report) take(t *tally) {
	for i, n := range t.outcomes {
		if n > 0 {
			r.Outcomes[outcomes[i]] = n
		}
	}
	add(r.Outcomes, t.other)
	r.Taps, r.Answered, r.InTime, r.Lost, r.Latency = t.taps, t.answered, t.inTime, t.lost, t.latency
	r.Starvations, r.Starved = t.starvations, time.Duration(t.starvedNS)
	r.NothingDue, r.NobodyThere = t.nothing, t.nobody
	r.Frames, r.Waves, r.WavesExpected, r.WavesReceived, r.WavesLate = t.frames, t.waves, t.expected, t.received, t.late
	r.Settled, r.Reconnects, r.Broken, r.Left = t.settled, t.reconnects, t.broken, t.left
	r.Errors, r.Closes, r.Faults = t.errors, t.closes, t.faults
}
