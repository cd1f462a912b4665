package history

import (
	"context"
	"math"

	"redrain/grab/outcome"
	"redrain/internal/sqldb"
	"redrain/server/live"
)

// Table is the rows in the database.
type Table struct{ db *sqldb.DB }

// NewTable is the table of a database that is migrated.
func NewTable(db *sqldb.DB) *Table { return &Table{db} }

var figures = sqldb.NewTable("figure", func(r *Row) []any {
	return []any{"campaign_id", &r.Campaign, "at", &r.At, "span_ms", &r.SpanMS, "online", &r.Online,
		"waiting", &r.Waiting, "grabs", &r.Grabs, "p50_us", &r.P50, "p99_us", &r.P99, "taps", &r.Taps, "won", &r.Won,
		"paid", &r.Paid, "stock", &r.Stock, "empty", &r.Empty, "late", &r.Late}
})

// Add writes the newest rows, by campaign. A row that is there already stays as it is.
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
	}), "writing the figures of a second")
}

// Read is a campaign's rows from a time to another, both Unix ms, in spans of at least spanMS, in the order of time.
func (t *Table) Read(ctx context.Context, campaign string, from, to, spanMS int64) ([]Row, error) {
	thin := thinner{spanMS: spanMS}
	err := t.db.Each(ctx, func(scan sqldb.Scan) error {
		r, err := figures.Scan(scan)
		thin.add(r)
		return err
	}, figures.Select("WHERE campaign_id = ? AND at >= ? AND at < ? ORDER BY at"), campaign, from, to)
	return thin.rows, sqldb.Wrap(err, "reading the figures of campaign %s", campaign)
}

// thinAtOnce is how many rows one step of thinning takes out, at most.
const thinAtOnce = 3_000

// Thin makes rows of one span that began before a time into rows of a wider one, some of one campaign, and says
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
		if len(old) == thinAtOnce { // its last span may be cut: the next step takes it
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

// wholeSpans leaves out the rows of the last of the wider spans.
func wholeSpans(rows []Row, widerMS int64) []Row {
	last := rows[len(rows)-1].At / widerMS
	n := len(rows)
	for n > 1 && rows[n-1].At/widerMS == last {
		n--
	}
	return rows[:n]
}

// Forget removes rows that began before a time, some, and says whether there may be more.
func (t *Table) Forget(ctx context.Context, before int64) (more bool, err error) {
	var campaign string
	more, err = t.db.First(ctx, []any{&campaign}, "SELECT campaign_id FROM figure WHERE span_ms = ? AND at < ? "+
		"ORDER BY at LIMIT 1", widest, before)
	if err == nil && more {
		_, err = t.db.Exec(ctx, "DELETE FROM figure WHERE campaign_id = ? AND at < ?", campaign, before)
	}
	return more, sqldb.Wrap(err, "removing old figures")
}

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
