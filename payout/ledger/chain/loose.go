package chain

import (
	"context"
	"math"
	"slices"

	"redrain/internal/sqldb"
)

// loose names the rows that belong to no stripe: somebody has added them behind the ledger's back.
func (w *walk) loose(ctx context.Context, q sqldb.Querier, b book) error {
	heads, err := sqldb.Column[int64](ctx, q, "SELECT stripe FROM chain_head WHERE book = ? ORDER BY stripe", b.table)
	if err != nil {
		return err
	}
	named, err := stripesOfRows(ctx, q, b)
	if err != nil {
		return err
	}
	for _, n := range named {
		if slices.Contains(heads, n) {
			continue
		}
		if err := w.nameLoose(ctx, q, b, n, "stripe = ?", n); err != nil {
			return err
		}
	}
	return w.nameLoose(ctx, q, b, -1, "stripe IS NULL")
}

// stripesOfRows are the stripes that rows of a book name, found one after the other in the index: there are few of them
// and many rows.
func stripesOfRows(ctx context.Context, q sqldb.Querier, b book) (named []int64, err error) {
	for last := int64(math.MinInt64); ; {
		found, err := q.First(ctx, []any{&last},
			"SELECT stripe FROM "+b.table+" WHERE stripe > ? ORDER BY stripe LIMIT 1", last)
		if err != nil || !found {
			return named, err
		}
		named = append(named, last)
	}
}

func (w *walk) nameLoose(ctx context.Context, q sqldb.Querier, b book, stripe int64, where string, args ...any) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		br := Break{Stripe: Stripe{b.table, stripe}, Fault: "belongs to no chain: it was added by hand"}
		err := scan(&br.Row, &br.Name)
		w.found(br)
		return err
	}, "SELECT id, "+b.named+" FROM "+b.table+" WHERE "+where+" ORDER BY id LIMIT ?", append(args, maxLoose)...)
}
