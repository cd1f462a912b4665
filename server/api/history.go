package api

import (
	"net/http"
	"strconv"

	"redrain/internal/openapi"
	"redrain/server/history"
)

const (
	// historyMS and historyPoints are the default length of a history and its number of points.
	historyMS, historyPoints = 15 * 60 * 1_000, 900
	// maxPoints is the most points of an answer.
	maxPoints = 2_000
)

func (a *API) history(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	from, to, points, err := rangeOf(r, a.o.Clock())
	if err != nil {
		return err
	}
	const second = 1_000
	span := (to - from + points - 1) / points
	span += second - 1
	rows, err := a.o.Figures.Read(r.Context(), c.ID, from, to, span-span%second)
	return answer(w, historyOf(from, to, rows), err)
}

// rangeOf parses the range of a request for a history.
func rangeOf(r *http.Request, now int64) (from, to, points int64, err error) {
	var wrong faults
	number := func(name string, usual, least, most int64) int64 {
		s := r.URL.Query().Get(name)
		if s == "" {
			return usual
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			wrong.check(false, name, "is %d to %d", least, most)
			return usual
		}
		return n
	}
	const latest = 1 << 52 // later than any real time, and no sum of two overflows
	to = number("to", now, 0, latest)
	from = number("from", max(to-historyMS, 0), 0, max(to-1, 0))
	points = number("points", historyPoints, 1, maxPoints)
	return from, to, points, wrong.err()
}

// historyOf returns figures for a chart: a column each.
func historyOf(from, to int64, rows []history.Row) openapi.History {
	n := len(rows)
	v := openapi.History{From: from, To: to, T: make([]int64, n), SpanMS: make([]int64, n), Online: make([]int64, n),
		Waiting: make([]int64, n), GrabsPerSecond: make([]int64, n), TapP50MS: make([]*float64, n),
		TapP99MS: make([]*float64, n),
		Taps:     make([]int64, n), Won: make([]int64, n), Paid: make([]int64, n), Stock: make([]int64, n),
		Empty: make([]int64, n), Late: make([]int64, n)}
	for i, r := range rows {
		v.T[i], v.SpanMS[i], v.Online[i], v.Waiting[i] = r.At, r.SpanMS, r.Online, r.Waiting
		v.GrabsPerSecond[i] = r.Grabs
		v.TapP50MS[i], v.TapP99MS[i] = milliseconds(r.P50), milliseconds(r.P99)
		v.Taps[i], v.Won[i], v.Paid[i], v.Stock[i], v.Empty[i], v.Late[i] = r.Taps, r.Won, r.Paid, r.Stock, r.Empty,
			r.Late
	}
	return v
}

// milliseconds returns nil for 0, which means no taps.
func milliseconds(us int64) *float64 {
	if us == 0 {
		return nil
	}
	ms := float64(us) / 1_000
	return &ms
}
