package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is the result of a Play, and the output of `redrain bench --json`; docs/use/bench.md describes it.
type Report struct {
	OK       bool     `json:"ok"`       // see Judge
	Problems []string `json:"problems"` // the reasons if OK is false
	Mode     string   `json:"mode"`     // "open" or "closed"

	URLs      []string `json:"urls"` // as given by the user
	Campaigns []string `json:"campaigns"`
	Players   int      `json:"players"`
	Joined    int      `json:"joined"` // of them, ever
	Away      int      `json:"away"`   // had joined, but were not connected at the end

	DurationMS     int64            `json:"duration_ms"`            // in which taps were sent
	RateWanted     float64          `json:"taps_per_second_wanted"` // open loop
	ThinkMS        int64            `json:"think_ms"`
	Taps           int64            `json:"taps"`            // sent
	Answered       int64            `json:"answered"`        // by a result
	TapsPerSecond  float64          `json:"taps_per_second"` // answered while taps were sent
	Outcomes       map[string]int64 `json:"outcomes"`
	Lost           int64            `json:"lost"`               // taps whose connection ended before the answer
	Unanswered     int64            `json:"unanswered"`         // taps that waited in vain
	NothingInAir   int64            `json:"nothing_in_the_air"` // open loop: taps not sent
	NobodyThere    int64            `json:"nobody_connected"`   // open loop: taps not sent
	Starvations    int64            `json:"starvations"`        // closed loop: times without a drop to tap
	StarvedPercent float64          `json:"starved_percent"`    // of the players' time

	Latency Latency `json:"latency_us"`
	Waves   Waves   `json:"waves"`

	Waiting Waiting `json:"waiting_room"`
	Left    int64   `json:"left"` // players who have left for good by the plan

	Reconnects int64            `json:"reconnects"`
	Broken     int64            `json:"broken"`     // connections
	Closes     map[string]int64 `json:"closes"`     // connections that the server closed, by code
	Errors     map[string]int64 `json:"errors"`     // the server's error messages, by code
	Faults     map[string]int64 `json:"faults"`     // violations of the protocol, in words
	NotJoined  map[string]int   `json:"not_joined"` // number of players who could not join, by the reason

	ProcessorMS     int64   `json:"processor_ms"` // processor time of this process
	ProcessorPerTap float64 `json:"processor_us_per_tap"`

	Ledger Ledger `json:"ledger"` // see Judge

	Frames      int64                   `json:"-"` // received
	AllWaves    int64                   `json:"-"` // received, expected or not
	Times       *hdrhistogram.Histogram `json:"-"` // of answered taps, µs; see Plan.Rate
	WaveSpreads []time.Duration         `json:"-"` // see Waves, in rising order
	Starved     time.Duration           `json:"-"` // all players together
	Settled     int64                   `json:"-"` // claims reported as settled
	// Told has every reported win from Gather on, including repetitions.
	Told []Win `json:"-"`
}

// Latency has the times of taps, in microseconds.
type Latency struct {
	P50  int64   `json:"p50"`
	P90  int64   `json:"p90"`
	P99  int64   `json:"p99"`
	P999 int64   `json:"p99_9"`
	Max  int64   `json:"max"`
	Mean float64 `json:"mean"`
}

// Waiting describes the players who had to wait for a slot.
type Waiting struct {
	Waited   int   `json:"waited"`
	Admitted int   `json:"admitted"` // of them
	P50      int64 `json:"wait_p50_ms"`
	Max      int64 `json:"wait_max_ms"`
	// The difference between the order of joining and that of the first "wait", in positions. Answers in flight
	// together may overtake each other.
	AstrayP90 int `json:"astray_p90"`
	AstrayMax int `json:"astray_max"`
}

// Waves describes the arrival of the waves. A spread is the time between the first and the last player who got a wave.
type Waves struct {
	Expected  int64 `json:"expected"` // their moment was within the Play and the player's presence
	Received  int64 `json:"received"` // of those
	Late      int64 `json:"late"`     // came after their moment
	SpreadP50 int64 `json:"spread_p50_us"`
	SpreadMax int64 `json:"spread_max_us"`
}

// report builds the report, and resets the counts.
func (c *Crowd) report(plan Plan, begin time.Time, took, processor time.Duration) *Report {
	t := c.tally.take()
	r := &t.Report
	c.tally.count(func(*counts) { r.Told = slices.Clone(c.tally.told) })
	c.mu.Lock()
	r.Joined, r.NotJoined = c.joined, maps.Clone(c.failed)
	c.mu.Unlock()
	r.Mode, r.Campaigns, r.Players, r.Waiting = "closed", c.options.Campaigns, c.options.Players, c.waiting.report()
	if plan.Rate > 0 {
		r.Mode = "open"
	}
	r.Away, r.Unanswered = max(0, r.Joined-int(t.connected+r.Left)), t.pending
	r.DurationMS, r.RateWanted, r.ThinkMS = took.Milliseconds(), plan.Rate, plan.Think.Milliseconds()
	r.TapsPerSecond = tenths(float64(t.inTime) / took.Seconds())
	r.StarvedPercent = tenths(100 * r.Starved.Seconds() / (took.Seconds() * float64(r.Players)))
	r.Latency = Latency{
		P50: r.Times.ValueAtQuantile(50), P90: r.Times.ValueAtQuantile(90), P99: r.Times.ValueAtQuantile(99),
		P999: r.Times.ValueAtQuantile(99.9), Max: r.Times.Max(), Mean: tenths(r.Times.Mean()),
	}
	r.ProcessorMS = processor.Milliseconds()
	if r.Taps > 0 {
		r.ProcessorPerTap = tenths(float64(processor.Microseconds()) / float64(r.Taps))
	}
	for _, v := range c.views {
		r.WaveSpreads = append(r.WaveSpreads, v.spreads(begin)...)
	}
	slices.Sort(r.WaveSpreads)
	if n := len(r.WaveSpreads); n > 0 {
		r.Waves.SpreadP50, r.Waves.SpreadMax = r.WaveSpreads[n/2].Microseconds(), r.WaveSpreads[n-1].Microseconds()
	}
	return r
}

func tenths(f float64) float64 { return math.Round(f*10) / 10 }

// problem records a problem of the run if bad is true.
func (r *Report) problem(bad bool, format string, args ...any) {
	if bad {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
	r.OK = len(r.Problems) == 0
}

// check records lost connections and violations of the protocol.
func (r *Report) check() {
	waiting := r.Waiting.Waited - r.Waiting.Admitted
	r.problem(r.Joined+waiting < r.Players, "%d of %d players could not join", r.Players-r.Joined-waiting, r.Players)
	r.problem(r.Away > 0, "%s had lost the connection and not got it back in the end", count(r.Away, "player"))
	r.problem(Sum(r.Faults) > 0, "%s broke the protocol", count(int(Sum(r.Faults)), "message"))
	r.problem(Sum(r.Errors) > 0, "the server answered with %s", count(int(Sum(r.Errors)), "error"))
	r.problem(r.Unanswered > 0, "%s never answered", were(r.Unanswered, "tap"))
	for code, n := range r.Closes {
		r.problem(code >= "4500" && code <= "4599", "the server closed %s for good, with code %s",
			count(int(n), "connection"), code)
	}
	slices.Sort(r.Problems)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func were(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %ss were", n, what)
}
