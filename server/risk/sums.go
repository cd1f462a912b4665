package risk

import (
	"encoding/json"
	"math"
)

// moments are count, sum and sum of squares.
type moments struct {
	N       float64 `json:"n"`
	Sum     float64 `json:"sum"`
	Squares float64 `json:"squares"`
}

func (m *moments) add(x float64) {
	m.N++
	m.Sum += x
	m.Squares += x * x
}

func (m *moments) halve() { m.N, m.Sum, m.Squares = m.N/2, m.Sum/2, m.Squares/2 }

func (m *moments) join(o moments) { m.N, m.Sum, m.Squares = m.N+o.N, m.Sum+o.Sum, m.Squares+o.Squares }

func (m *moments) mean() float64 { return m.Sum / max(m.N, 1) }

func (m *moments) deviation() float64 {
	return math.Sqrt(max(m.Squares/max(m.N, 1)-m.mean()*m.mean(), 0))
}

// sums are the decaying sums of a hand. Those of several nodes add up.
type sums struct {
	Taps   moments `json:"taps"`
	Gaps   moments `json:"gaps"`
	Fast   float64 `json:"fast"`
	Astray float64 `json:"astray"`
}

// remembered is the number of taps after which older ones start to decay: at twice as many, all sums are halved. So a
// program is soon detected even if its player has played by hand before.
const remembered = 32

// fade halves the sums if there are too many taps.
func (s *sums) fade() {
	if s.Taps.N+s.Astray >= 2*remembered {
		s.Taps.halve()
		s.Gaps.halve()
		s.Fast, s.Astray = s.Fast/2, s.Astray/2
	}
}

func (s *sums) join(o sums) {
	s.Taps.join(o.Taps)
	s.Gaps.join(o.Gaps)
	s.Fast, s.Astray = s.Fast+o.Fast, s.Astray+o.Astray
}

// setSignals sets the signals that follow from the sums.
func (s *sums) setSignals(to *Signals) {
	to.Taps, to.Fast, to.Mean, to.Spread = int(s.Taps.N), int(s.Fast), s.Taps.mean(), s.Taps.deviation()
	to.Gaps, to.GapSplay, to.Astray = int(s.Gaps.N), s.Gaps.deviation(), int(s.Astray)
}

// noted is a hand as a node reports it.
type noted struct {
	At int64 `json:"at"` // Unix ms
	sums
}

// notedForMS is the life of another node's report, in milliseconds. Each tap there renews it.
const notedForMS = 60_000

func (n noted) text() string {
	text, err := json.Marshal(n)
	if err != nil {
		return "" // only for NaN or infinity; the reader takes "" as no report
	}
	return string(text)
}

// readNoted parses another node's report. It rejects old reports, impossible sums, and sums of more taps than a node
// remembers.
func readNoted(text string, now int64) (s sums, ok bool) {
	var n noted
	if json.Unmarshal([]byte(text), &n) != nil || max(now-n.At, n.At-now) > notedForMS {
		return sums{}, false
	}
	const most = 2 * remembered
	taps, gaps := n.Taps, n.Gaps
	ok = within(taps.N+n.Astray, most) && within(n.Astray, most) && within(n.Fast, taps.N) && within(gaps.N, taps.N) &&
		possible(taps) && possible(gaps)
	return n.sums, ok
}

func within(x, most float64) bool { return x >= 0 && x <= most }

// possible reports whether some numbers, none below 0, have these moments.
func possible(m moments) bool {
	const rounding = 1 + 1e-9
	return m.N >= 0 && m.Sum >= 0 && m.Squares >= 0 && m.Sum*m.Sum <= m.Squares*m.N*rounding
}
