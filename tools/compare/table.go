package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// line is one measure: of redrain, and of the other contestant.
type line struct {
	Row   string    `json:"row"`
	What  string    `json:"what"`
	Ours  []float64 `json:"redrain"`         // one for each round
	Other []float64 `json:"other,omitempty"` // of the same rounds; none without another contestant
	Than  string    `json:"than,omitempty"`  // the other contestant
	Goal  *goal     `json:"goal,omitempty"`  // nil: a figure to know
	Plain bool      `json:"plain,omitempty"` // the goal is about redrain's own figure, and Other is there to look at
}

// goal is a bound of the ratio. If it is Plain, or there is no other contestant, it bounds redrain's figure itself.
type goal struct {
	AtLeast bool    `json:"at_least"` // else at most
	Figure  float64 `json:"figure"`
}

func atLeast(f float64) *goal { return &goal{true, f} }

func atMost(f float64) *goal { return &goal{false, f} }

func (g *goal) met(f float64) bool {
	if g.AtLeast {
		return f >= g.Figure
	}
	return f <= g.Figure
}

func (g *goal) String() string {
	if g.AtLeast {
		return fmt.Sprintf("≥ %g", g.Figure)
	}
	return fmt.Sprintf("≤ %g", g.Figure)
}

// ratios are redrain's figures divided by the others', round by round, because rounds were measured side by side.
func (l *line) ratios() []float64 {
	rs := make([]float64, 0, len(l.Ours))
	for i := range min(len(l.Ours), len(l.Other)) {
		rs = append(rs, l.Ours[i]/l.Other[i])
	}
	return rs
}

// compared are the values that the goal is about.
func (l *line) compared() []float64 {
	if len(l.Other) > 0 && !l.Plain {
		return l.ratios()
	}
	return l.Ours
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// short writes a figure with three digits that matter.
func short(f float64) string {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return "–"
	case abs >= 10_000:
		return fmt.Sprintf("%.1f k", f/1000)
	case abs >= 100 || f == math.Trunc(f):
		return fmt.Sprintf("%.0f", f)
	case abs >= 10:
		return fmt.Sprintf("%.1f", f)
	case abs >= 0.1:
		return fmt.Sprintf("%.2f", f)
	default:
		return fmt.Sprintf("%.4f", f)
	}
}

func spread(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	return short(slices.Min(values)) + " … " + short(slices.Max(values))
}

// verdict says whether the median reaches the goal.
func (l *line) verdict() string {
	if l.Goal == nil {
		return ""
	}
	if l.Goal.met(median(l.compared())) {
		return "yes"
	}
	return "**no**"
}

// printTable writes the lines as a table in Markdown: medians over the rounds, and the span of the figure with a goal.
func printTable(w io.Writer, lines []line) error {
	rows := [][]string{{"", "redrain", "other", "", "ratio", "min … max", "goal", "met"}}
	for i := range lines {
		l := &lines[i]
		cells := []string{l.What, short(median(l.Ours)), "", l.Than, "", spread(l.compared()), "", l.verdict()}
		if len(l.Other) > 0 {
			cells[2], cells[4] = short(median(l.Other)), short(median(l.ratios()))
		}
		if l.Goal != nil {
			cells[6] = l.Goal.String()
		}
		rows = append(rows, cells)
	}
	return writeMarkdown(w, rows)
}

// writeMarkdown sets the columns under each other, numbers to the right.
func writeMarkdown(w io.Writer, rows [][]string) error {
	width := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, c := range cells {
			width[i] = max(width[i], len([]rune(c)), 4)
		}
	}
	left := map[int]bool{0: true, 3: true, 7: true}
	var b strings.Builder
	for n, cells := range rows {
		for i, c := range cells {
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			if left[i] {
				b.WriteString("| " + c + pad + " ")
			} else {
				b.WriteString("| " + pad + c + " ")
			}
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i := range cells {
			dashes := strings.Repeat("-", width[i])
			if !left[i] {
				dashes = dashes[1:] + ":"
			}
			b.WriteString("| " + dashes + " ")
		}
		b.WriteString("|\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printJSON writes one object with all that was measured.
func printJSON(w io.Writer, lines []line) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"lines": lines})
}
