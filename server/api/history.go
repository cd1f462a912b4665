package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"redrain/rain"
	"redrain/server/history"
)

// Figures is what campaigns' figures were. [history.Table] has them.
type Figures interface {
	Read(ctx context.Context, campaign string, from, to, spanMS int64) ([]history.Row, error)
}

const (
	// historyMS is how far back a history goes where nobody says, and historyPoints of how many points it is.
	historyMS, historyPoints = 15 * 60 * 1_000, 900
	// maxPoints is how many points an answer has at most.
	maxPoints = 2_000
)

// historyView is figures as a chart takes them: a column each.
type historyView struct {
	From    int64      `json:"from"`
	To      int64      `json:"to"`
	T       []int64    `json:"t"`
	SpanMS  []int64    `json:"span_ms"`
	Online  []int64    `json:"online"`
	Waiting []int64    `json:"waiting"`
	Grabs   []int64    `json:"grabs_per_second"`
	P50     []*float64 `json:"tap_p50_ms"`
	P99     []*float64 `json:"tap_p99_ms"`
	Taps    []int64    `json:"taps"`
	Won     []int64    `json:"won"`
	Paid    []int64    `json:"paid"`
	Stock   []int64    `json:"stock"`
	Empty   []int64    `json:"empty"`
	Late    []int64    `json:"late"`
}

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
	if err != nil {
		return err
	}
	WriteJSON(w, http.StatusOK, historyOf(from, to, rows))
	return nil
}

// rangeOf is what a request for a history asks for.
func rangeOf(r *http.Request, now int64) (from, to, points int64, err error) {
	var faults rain.Invalid
	number := func(name string, usual, least, most int64) int64 {
		s := r.URL.Query().Get(name)
		if s == "" {
			return usual
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			faults = append(faults, rain.FieldError{Field: name, Message: fmt.Sprintf("is %d to %d", least, most)})
			return usual
		}
		return n
	}
	const latest = 1 << 52 // any time that is meant, and no sum of two overflows
	to = number("to", now, 0, latest)
	from = number("from", max(to-historyMS, 0), 0, max(to-1, 0))
	points = number("points", historyPoints, 1, maxPoints)
	if len(faults) > 0 {
		return 0, 0, 0, faults
	}
	return from, to, points, nil
}

func historyOf(from, to int64, rows []history.Row) historyView {
	n := len(rows)
	v := historyView{From: from, To: to, T: make([]int64, n), SpanMS: make([]int64, n), Online: make([]int64, n),
		Waiting: make([]int64, n), Grabs: make([]int64, n), P50: make([]*float64, n), P99: make([]*float64, n),
		Taps: make([]int64, n), Won: make([]int64, n), Paid: make([]int64, n), Stock: make([]int64, n),
		Empty: make([]int64, n), Late: make([]int64, n)}
	for i, r := range rows {
		v.T[i], v.SpanMS[i], v.Online[i], v.Waiting[i], v.Grabs[i] = r.At, r.SpanMS, r.Online, r.Waiting, r.Grabs
		v.P50[i], v.P99[i] = milliseconds(r.P50), milliseconds(r.P99)
		v.Taps[i], v.Won[i], v.Paid[i], v.Stock[i], v.Empty[i], v.Late[i] = r.Taps, r.Won, r.Paid, r.Stock, r.Empty,
			r.Late
	}
	return v
}

// milliseconds is nil where nobody has tapped.
func milliseconds(us int64) *float64 {
	if us == 0 {
		return nil
	}
	ms := float64(us) / 1_000
	return &ms
}
