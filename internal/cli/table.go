package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// table writes columns. Names that people gave belong in the last column, because characters of double width, as in
// Chinese, would shift the columns after them.
type table struct {
	w    *tabwriter.Writer
	zone *time.Location
}

func newTable(app *App) *table {
	return &table{w: tabwriter.NewWriter(app.Stdout, 0, 8, 2, ' ', 0), zone: app.Location}
}

// row writes one line. It makes every cell printable.
func (t *table) row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t") //nolint:errcheck // flush tells
		}
		fmt.Fprint(t.w, printable(fmt.Sprint(cell))) //nolint:errcheck // flush tells
	}
	fmt.Fprintln(t.w) //nolint:errcheck // flush tells
}

// some is a row that is left out without a value.
func (t *table) some(name, value string) {
	if value != "" {
		t.row(name, value)
	}
}

func (t *table) flush() error { return t.w.Flush() }

// count is a number with what it counts: 1 finding, 2 findings.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// at is a moment in the operator's time zone.
func (t *table) at(ms int64) string {
	return time.UnixMilli(ms).In(t.zone).Format("2006-01-02 15:04:05")
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// printable replaces characters that would control the terminal: campaigns' names and players' ids are text of
// strangers.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
