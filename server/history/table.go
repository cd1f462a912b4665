package history

import (
	"context"

	"redrain/internal/sqldb"
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
