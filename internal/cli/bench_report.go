package cli

import (
	"fmt"
	"math"
	"slices"

	"redrain/internal/bench"
	"redrain/rain"
)

// benchReport is what `redrain bench --json` answers; docs/bench.md describes it. Fields may be added.
type benchReport struct {
	OK       bool     `json:"ok"`
	Problems []string `json:"problems"` // why not
	Mode     string   `json:"mode"`     // "open" or "closed"

	URLs      []string `json:"urls"`
	Campaigns []string `json:"campaigns"`
	Players   int      `json:"players"`
	Joined    int      `json:"joined"`
	Away      int      `json:"away"` // had joined, but were not connected at the end

	DurationMS     int64            `json:"duration_ms"`
	RateWanted     float64          `json:"taps_per_second_wanted"` // open loop
	ThinkMS        int64            `json:"think_ms"`
	Taps           int64            `json:"taps"`
	Answered       int64            `json:"answered"`
	TapsPerSecond  float64          `json:"taps_per_second"` // answered
	Outcomes       map[string]int64 `json:"outcomes"`
	Lost           int64            `json:"lost"`
	Unanswered     int64            `json:"unanswered"`
	NothingInAir   int64            `json:"nothing_in_the_air"`
	NobodyThere    int64            `json:"nobody_connected"`
	Starvations    int64            `json:"starvations"`
	StarvedPercent float64          `json:"starved_percent"`

	Latency benchLatency `json:"latency_us"`
	Waves   benchWaves   `json:"waves"`

	Waiting benchWaiting `json:"waiting_room"`
	Left    int64        `json:"left"` // after --stay

	Reconnects int64            `json:"reconnects"`
	Broken     int64            `json:"broken"`
	Closes     map[string]int64 `json:"closes"`
	Errors     map[string]int64 `json:"errors"`
	Faults     map[string]int64 `json:"faults"`
	NotJoined  map[string]int   `json:"not_joined"` // why players could not join, and how many

	ProcessorMS     int64   `json:"processor_ms"` // that bench itself has used
	ProcessorPerTap float64 `json:"processor_us_per_tap"`

	Ledger benchLedger `json:"ledger"`
}

// benchLatency is how long taps took, in microseconds.
type benchLatency struct {
	P50  int64   `json:"p50"`
	P90  int64   `json:"p90"`
	P99  int64   `json:"p99"`
	P999 int64   `json:"p99_9"`
	Max  int64   `json:"max"`
	Mean float64 `json:"mean"`
}

// benchWaiting is what became of the players who had to wait for a seat.
type benchWaiting struct {
	Waited   int   `json:"waited"`
	Admitted int   `json:"admitted"` // of them
	P50      int64 `json:"wait_p50_ms"`
	Max      int64 `json:"wait_max_ms"`
	// By how many places they came in away from the order in which they were told to wait.
	AstrayP90 int `json:"astray_p90"`
	AstrayMax int `json:"astray_max"`
}

func benchWaitingOf(w bench.Waited) benchWaiting {
	out := benchWaiting{Waited: w.Players, Admitted: w.Admitted}
	if n := len(w.Waits); n > 0 {
		out.P50, out.Max = w.Waits[n/2].Milliseconds(), w.Waits[n-1].Milliseconds()
		out.AstrayP90, out.AstrayMax = w.Astray[n*9/10], w.Astray[n-1]
	}
	return out
}

// benchWaves is how the waves arrived. A spread is the time between the first and the last player who got a wave.
type benchWaves struct {
	Expected  int64 `json:"expected"`
	Received  int64 `json:"received"`
	Late      int64 `json:"late"`
	SpreadP50 int64 `json:"spread_p50_us"`
	SpreadMax int64 `json:"spread_max_us"`
}

// benchLedger is the result of comparing the wins that players were told of with the ledger.
type benchLedger struct {
	Checked    bool       `json:"checked"`
	Reason     string     `json:"reason"` // why not
	WaitedMS   int64      `json:"waited_ms"`
	Told       int        `json:"told"`
	AmountTold rain.Money `json:"amount_told"`
	Settled    int        `json:"settled"`
	Unsettled  int        `json:"unsettled"`
	Missing    int        `json:"missing"`
	Wrong      int        `json:"wrong"`
	Twice      int        `json:"twice"`
	Untold     int        `json:"untold"`
	Examples   []string   `json:"examples"`
}

// summary makes the report of what the engine has counted.
func (c *benchCmd) summary(campaigns []string, connected int, r *bench.Report) *benchReport {
	plan := c.plan()
	out := &benchReport{
		Problems: []string{}, Mode: "open", URLs: c.nodes(), Campaigns: campaigns, Players: r.Players, Joined: r.Joined,
		Away: max(0, r.Joined-connected-int(r.Left)), Waiting: benchWaitingOf(r.Waited), Left: r.Left,
		DurationMS: r.Took.Milliseconds(), RateWanted: plan.Rate, ThinkMS: c.Think.Milliseconds(),
		Taps: r.Taps, Answered: r.Answered, TapsPerSecond: tenths(r.TapsPerSecond()), Outcomes: r.Outcomes,
		Lost: r.Lost, Unanswered: r.Unanswered, NothingInAir: r.NothingDue, NobodyThere: r.NobodyThere,
		Starvations:    r.Starvations,
		StarvedPercent: tenths(100 * r.Starved.Seconds() / (r.Took.Seconds() * float64(r.Players))),
		Latency: benchLatency{
			P50: r.Latency.ValueAtQuantile(50), P90: r.Latency.ValueAtQuantile(90), P99: r.Latency.ValueAtQuantile(99),
			P999: r.Latency.ValueAtQuantile(99.9), Max: r.Latency.Max(), Mean: tenths(r.Latency.Mean()),
		},
		Waves:      benchWaves{Expected: r.WavesExpected, Received: r.WavesReceived, Late: r.WavesLate},
		Reconnects: r.Reconnects, Broken: r.Broken, Closes: map[string]int64{}, Errors: r.Errors, Faults: r.Faults,
		NotJoined:   r.Failed,
		ProcessorMS: r.Processor.Milliseconds(),
	}
	if c.ClosedLoop {
		out.Mode = "closed"
	}
	if r.Taps > 0 {
		out.ProcessorPerTap = tenths(float64(r.Processor.Microseconds()) / float64(r.Taps))
	}
	if n := len(r.WaveSpreads); n > 0 {
		out.Waves.SpreadP50, out.Waves.SpreadMax = r.WaveSpreads[n/2].Microseconds(), r.WaveSpreads[n-1].Microseconds()
	}
	for code, n := range r.Closes {
		out.Closes[fmt.Sprint(code)] = n
	}
	out.checkPlay(r)
	return out
}

func tenths(f float64) float64 { return math.Round(f*10) / 10 }

// problem notes a problem of the run if bad is true.
func (b *benchReport) problem(bad bool, format string, args ...any) {
	if bad {
		b.Problems = append(b.Problems, fmt.Sprintf(format, args...))
	}
	b.OK = len(b.Problems) == 0
}

// checkPlay notes what kept the players from playing as the protocol says.
func (b *benchReport) checkPlay(r *bench.Report) {
	waiting := b.Waiting.Waited - b.Waiting.Admitted
	b.problem(b.Joined+waiting < b.Players, "%d of %d players could not join", b.Players-b.Joined-waiting, b.Players)
	b.problem(b.Away > 0, "%s had lost the connection and not got it back in the end", count(b.Away, "player"))
	b.problem(sum(r.Faults) > 0, "%s broke the protocol", count(int(sum(r.Faults)), "message"))
	b.problem(sum(r.Errors) > 0, "the server answered with %s", count(int(sum(r.Errors)), "error"))
	b.problem(b.Unanswered > 0, "%s never answered", were(b.Unanswered, "tap"))
	for code, n := range r.Closes {
		b.problem(code >= 4500 && code <= 4599, "the server closed %s for good, with code %d",
			count(int(n), "connection"), code)
	}
	slices.Sort(b.Problems)
}

func were(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %ss were", n, what)
}

func sum[K comparable](counts map[K]int64) int64 {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	return total
}

// audit adds the result of the comparison with the ledger.
func (b *benchReport) audit(c ledgerCheck) {
	b.Ledger = benchLedger{
		Checked: c.checked, WaitedMS: c.waited.Milliseconds(), Told: c.Told, AmountTold: c.AmountTold,
		Settled:   c.Settled,
		Unsettled: c.Unsettled, Missing: c.Missing, Wrong: c.Wrong, Twice: c.Twice, Untold: c.Untold,
		Examples: c.Examples,
	}
	if b.Ledger.Examples == nil {
		b.Ledger.Examples = []string{}
	}
	if !c.checked {
		b.Ledger.Reason = c.reason.Error()
		b.problem(true, "the told wins could not be looked up in the ledger: %v", c.reason)
		return
	}
	b.problem(c.Missing > 0, "%s told and %s not in the ledger", were(int64(c.Missing), "win"), isOrAre(c.Missing))
	b.problem(c.Unsettled > 0, "%s told and still on the way to the ledger after %s", were(int64(c.Unsettled), "win"),
		c.waited.Round(1e8))
	b.problem(c.Wrong > 0, "%s told otherwise than the ledger has it", were(int64(c.Wrong), "win"))
	b.problem(c.Twice > 0, "%s in the ledger more than once", count(c.Twice, "win"))
	// Each of them may hide a win: the tap has won, but its player was told otherwise.
	unsure := b.Lost + b.Unanswered + sum(b.Errors) + b.Outcomes["unavailable"]
	b.problem(int64(c.Untold) > unsure, "%s in the ledger and never told, and only %s without a result",
		were(int64(c.Untold), "win"), were(unsure, "tap"))
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
