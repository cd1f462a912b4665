package history

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
)

// Table is the rows in the database.
type Table struct{ db *sqldb.DB }

// NewTable is the table of a database that is migrated.
func NewTable(db *sqldb.DB) *Table { return &Table{db} }

var columns = []string{"campaign_id", "at", "span_ms", "online", "waiting", "grabs", "p50_us", "p99_us", "taps", "won",
	"paid", "stock", "empty", "late"}

const selectRows = "SELECT at, span_ms, online, waiting, grabs, p50_us, p99_us, taps, won, paid, stock, empty, late " +
	"FROM figure "

func scanRow(scan sqldb.Scan) (r Row, err error) {
	err = scan(&r.At, &r.SpanMS, &r.Online, &r.Waiting, &r.Grabs, &r.P50, &r.P99, &r.Taps, &r.Won, &r.Paid, &r.Stock,
		&r.Empty, &r.Late)
	return r, err
}

func (r Row) values(campaign string) []any {
	return []any{campaign, r.At, r.SpanMS, r.Online, r.Waiting, r.Grabs, r.P50, r.P99, r.Taps, r.Won, r.Paid, r.Stock,
		r.Empty, r.Late}
}

// Add writes the newest rows, by campaign. A row that is there already stays as it is.
func (t *Table) Add(ctx context.Context, rows map[string]Row) error {
	values := make([][]any, 0, len(rows))
	for campaign, r := range rows {
		values = append(values, r.values(campaign))
	}
	if len(values) == 0 {
		return nil
	}
	err := t.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Insert(ctx, "figure", columns, values, sqldb.Merge{Key: []string{"campaign_id", "at"}})
	})
	if err != nil {
		return fmt.Errorf("writing the figures of a second: %w", err)
	}
	return nil
}

// Read is a campaign's rows from a time to another, both Unix ms, in spans of at least spanMS, in the order of time.
func (t *Table) Read(ctx context.Context, campaign string, from, to, spanMS int64) ([]Row, error) {
	thin := thinner{spanMS: spanMS}
	err := t.db.Each(ctx, func(scan sqldb.Scan) error {
		r, err := scanRow(scan)
		thin.add(r)
		return err
	}, selectRows+"WHERE campaign_id = ? AND at >= ? AND at < ? ORDER BY at", campaign, from, to)
	if err != nil {
		return nil, fmt.Errorf("reading the figures of campaign %s: %w", campaign, err)
	}
	return thin.rows, nil
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
		old, err := sqldb.List(ctx, tx, scanRow, selectRows+"WHERE campaign_id = ? AND span_ms = ? AND at < ? "+
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
		values := make([][]any, len(thin.rows))
		for i, r := range thin.rows {
			values[i] = r.values(campaign)
		}
		return tx.Insert(ctx, "figure", columns, values, sqldb.Merge{Key: []string{"campaign_id", "at"}})
	})
	if err != nil {
		return false, fmt.Errorf("thinning old figures: %w", err)
	}
	return more, nil
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
	if err != nil {
		return false, fmt.Errorf("removing old figures: %w", err)
	}
	return more, nil
}
