package history

import (
	"context"
	"math"

	"redrain/grab/outcome"
	"redrain/internal/sqldb"
	"redrain/server/live"
)

// Table holds the rows in the database.
type Table struct{ db *sqldb.DB }

// NewTable returns the table of a migrated database.
func NewTable(db *sqldb.DB) *Table { return &Table{db} }

var figures = sqldb.NewTable("figure", func(r *Row) []any {
	return []any{"campaign_id", &r.Campaign, "at", &r.At, "span_ms", &r.SpanMS, "online", &r.Online,
		"waiting", &r.Waiting, "grabs", &r.Grabs, "p50_us", &r.P50, "p99_us", &r.P99, "taps", &r.Taps, "won", &r.Won,
		"paid", &r.Paid, "stock", &r.Stock, "empty", &r.Empty, "late", &r.Late}
})

// Add writes the newest rows, by campaign. An existing row is not changed.
func (t *Table) Add(ctx context.Context, rows map[string]Row) error {
	all := make([]Row, 0, len(rows))
	for campaign, r := range rows {
		r.Campaign = campaign
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil
	}
	return sqldb.Wrap(t.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return figures.Insert(ctx, tx, sqldb.Merge{Key: figures.Columns()[:2]}, all...)
	}), "write the figures of a second")
}

// Read returns a campaign's rows from one time to another, both Unix ms, in spans of at least spanMS, in the order of
// time.
func (t *Table) Read(ctx context.Context, campaign string, from, to, spanMS int64) ([]Row, error) {
	thin := thinner{spanMS: spanMS}
	err := t.db.Each(ctx, func(scan sqldb.Scan) error {
		r, err := figures.Scan(scan)
		thin.add(r)
		return err
	}, figures.Select("WHERE campaign_id = ? AND at >= ? AND at < ? ORDER BY at"), campaign, from, to)
	return thin.rows, sqldb.Wrap(err, "read the figures of campaign %s", campaign)
}

// thinAtOnce is the most rows that one step of thinning replaces.
const thinAtOnce = 3_000

// Thin merges some rows of one campaign that have a span and began before a time into rows of a wider span. It reports
// whether there may be more. The wider span is a multiple of the narrower.
func (t *Table) Thin(ctx context.Context, spanMS, widerMS, before int64) (more bool, err error) {
	before -= before % widerMS
	err = t.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var campaign string
		more, err = tx.First(ctx, []any{&campaign}, "SELECT campaign_id FROM figure WHERE span_ms = ? AND at < ? "+
			"ORDER BY at LIMIT 1", spanMS, before)
		if err != nil || !more {
			return err
		}
		old, err := figures.List(ctx, tx, "WHERE campaign_id = ? AND span_ms = ? AND at < ? "+
			"ORDER BY at LIMIT ?", campaign, spanMS, before, thinAtOnce)
		if err != nil {
			return err
		}
		if len(old) == thinAtOnce { // its last span may be incomplete: the next step takes it
			old = wholeSpans(old, widerMS)
		}
		thin := thinner{spanMS: widerMS}
		for _, r := range old {
			thin.add(r)
		}
		_, err = tx.Exec(ctx, "DELETE FROM figure WHERE campaign_id = ? AND span_ms = ? AND at >= ? AND at <= ?",
			campaign, spanMS, old[0].At, old[len(old)-1].At)
		if err != nil {
			return err
		}
		return figures.Insert(ctx, tx, sqldb.Merge{Key: figures.Columns()[:2]}, thin.rows...)
	})
	return more, sqldb.Wrap(err, "thinning old figures")
}

// wholeSpans removes the rows of the last wider span.
func wholeSpans(rows []Row, widerMS int64) []Row {
	last := rows[len(rows)-1].At / widerMS
	n := len(rows)
	for n > 1 && rows[n-1].At/widerMS == last {
		n--
	}
	return rows[:n]
}

// Forget removes some rows that began before a time, and reports whether there may be more.
func (t *Table) Forget(ctx context.Context, before int64) (more bool, err error) {
	var campaign string
	more, err = t.db.First(ctx, []any{&campaign}, "SELECT campaign_id FROM figure WHERE span_ms = ? AND at < ? "+
		"ORDER BY at LIMIT 1", widest, before)
	if err == nil && more {
		_, err = t.db.Exec(ctx, "DELETE FROM figure WHERE campaign_id = ? AND at < ?", campaign, before)
	}
	return more, sqldb.Wrap(err, "remove old figures")
}

// Row holds a campaign's figures of a span of time. Counters have the value at its end; gauges have their maximum.
type Row struct {
	Campaign string

	At     int64 // start of the span, Unix ms
	SpanMS int64

	Online  int64 // players in the room
	Waiting int64 // players in the waiting room
	Grabs   int64 // taps a second
	P50     int64 // time within which half of the taps were answered, µs; 0 without taps
	P99     int64 // the same for 99 of 100

	Taps  int64 // since the campaign began
	Won   int64 // packets
	Paid  int64 // packets
	Stock int64 // packets left
	Empty int64 // taps
	Late  int64 // taps
}

// rowOf returns the row of a second.
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

// thinner merges rows in the order of time into rows of wider spans.
type thinner struct {
	spanMS int64
	rows   []Row
}

// add merges the next row. A row that is already as wide as the spans is not changed.
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
