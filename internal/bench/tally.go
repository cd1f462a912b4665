package bench

import (
	"maps"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of the histograms, in microseconds, and their precision.
const (
	fastest    = 1
	slowest    = 3_600_000_000 // an hour
	digits     = 3
	nsPerMicro = 1_000
)

// tally is what a loop counts.
type tally struct {
	counts

	latency  *hdrhistogram.Histogram // µs
	outcomes [len(outcomes)]int64
	other    map[string]int64 // outcomes that are not known
	errors   map[string]int64 // the server's error messages, by code
	faults   map[string]int64 // what broke the protocol, in words
	closes   map[int]int64    // connections that the server closed, by code
}

// counts are the plain ones.
type counts struct {
	taps     int64 // sent
	answered int64 // by a result
	inTime   int64 // of those, while taps were sent
	failed   int64 // by an error
	lost     int64 // with their connection
	nothing  int64 // open loop: not sent, as nothing was in the air
	nobody   int64 // open loop: not sent, as nobody was connected

	starvations int64 // closed loop: how often a player had nothing to tap
	starvedNS   int64

	frames, waves, late int64
	expected, received  int64 // waves
	settled             int64 // claims
	reconnects, broken  int64
	left                int64 // players who have gone for good
}

// outcomes are those of the protocol.
var outcomes = [...]string{
	won, "already", "sold_out", "not_open", "limited", "empty", "late", "unknown_drop", "too_fast", "unavailable",
}

const won = "won"

func newTally() *tally {
	return &tally{
		latency: hdrhistogram.New(fastest, slowest, digits), other: map[string]int64{}, errors: map[string]int64{},
		faults: map[string]int64{}, closes: map[int]int64{},
	}
}

// renew begins anew, and keeps what went wrong while nobody was looking.
func (t *tally) renew() *tally {
	n := newTally()
	n.errors, n.faults, n.closes = t.errors, t.faults, t.closes
	n.broken, n.reconnects = t.broken, t.reconnects
	return n
}

func (t *tally) answer(outcome []byte, ns int64) {
	t.answered++
	_ = t.latency.RecordValue(min(max(ns/nsPerMicro, fastest), slowest)) // it is in the range
	for i, known := range outcomes {
		if string(outcome) == known {
			t.outcomes[i]++
			return
		}
	}
	t.other[string(outcome)]++
}

func (t *tally) fault(words string) { t.faults[words]++ }

// starved ends a time in which a player had nothing to tap.
func (t *tally) starved(p *player, now int64) {
	if p.starvedSince != 0 {
		t.starvations++
		t.starvedNS += now - p.starvedSince
		p.starvedSince = 0
	}
}

// merge adds another loop's tally.
func (t *tally) merge(o *tally) {
	t.latency.Merge(o.latency)
	for i, n := range o.outcomes {
		t.outcomes[i] += n
	}
	add(t.other, o.other)
	add(t.errors, o.errors)
	add(t.faults, o.faults)
	add(t.closes, o.closes)
	t.counts.add(&o.counts)
}

func (c *counts) add(o *counts) {
	c.taps += o.taps
	c.answered += o.answered
	c.inTime += o.inTime
	c.failed += o.failed
	c.lost += o.lost
	c.nothing += o.nothing
	c.nobody += o.nobody
	c.starvations += o.starvations
	c.starvedNS += o.starvedNS
	c.frames += o.frames
	c.waves += o.waves
	c.late += o.late
	c.expected += o.expected
	c.received += o.received
	c.settled += o.settled
	c.reconnects += o.reconnects
	c.broken += o.broken
	c.left += o.left
}

func add[K comparable](to, from map[K]int64) {
	for k := range maps.Keys(from) {
		to[k] += from[k]
	}
}
