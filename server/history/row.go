package history

import (
	"math"

	"redrain/grab/outcome"
	"redrain/server/live"
)

// Row is what a campaign's figures were in a span of time. Counts are those at its end; what rises and falls is the
// highest of it.
type Row struct {
	Campaign string

	At     int64 // when the span begins, Unix ms
	SpanMS int64

	Online  int64 // players in the room
	Waiting int64 // players in the waiting room
	Grabs   int64 // taps a second
	P50     int64 // within which half of the taps were answered, µs; 0 where nobody tapped
	P99     int64 // the same of 99 of 100

	Taps  int64 // since the campaign began
	Won   int64 // packets
	Paid  int64 // packets
	Stock int64 // packets that are left
	Empty int64 // taps
	Late  int64 // taps
}

// rowOf is the row of a second.
func rowOf(at int64, s live.Stats) Row {
	return Row{
		At: at - at%secondMS, SpanMS: secondMS,
		Online: s.Online, Waiting: s.Waiting, Grabs: int64(math.Round(s.GrabsPerSecond)),
		P50: microseconds(s.TapP50MS), P99: microseconds(s.TapP99MS),
		Taps: s.Taps, Won: int64(s.Won), Paid: s.Paid, Stock: int64(s.Stock),
		Empty: s.Outcomes[outcome.Empty], Late: s.Outcomes[outcome.Late],
	}
}

func microseconds(ms *float64) int64 {
	if ms == nil {
		return 0
	}
	return max(int64(math.Round(*ms*1_000)), 1)
}

// merge adds a later row to r.
func (r *Row) merge(later Row) {
	r.Online = max(r.Online, later.Online)
	r.Waiting = max(r.Waiting, later.Waiting)
	r.Grabs = max(r.Grabs, later.Grabs)
	r.P50 = max(r.P50, later.P50)
	r.P99 = max(r.P99, later.P99)
	r.Taps, r.Won, r.Paid, r.Stock = later.Taps, later.Won, later.Paid, later.Stock
	r.Empty, r.Late = later.Empty, later.Late
}

// thinner makes of rows in the order of time fewer rows, of wider spans.
type thinner struct {
	spanMS int64
	rows   []Row
}

// add takes the next row in. A row that is as wide as the spans already stays as it is.
func (t *thinner) add(r Row) {
	if r.SpanMS < t.spanMS {
		r.At -= r.At % t.spanMS
		r.SpanMS = t.spanMS
	}
	if n := len(t.rows); n > 0 && r.At < t.rows[n-1].At+t.rows[n-1].SpanMS {
		t.rows[n-1].merge(r)
		return
	}
	t.rows = append(t.rows, r)
}
