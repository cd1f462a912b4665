package chain

import (
	"context"
	"encoding/json"

	"redrain/internal/sqldb"
)

// Rewrite does what a thief does who owns the database and knows this package: it makes all chains and roots whole
// again over what the rows say now.
func Rewrite(ctx context.Context, db *sqldb.DB) error {
	for _, b := range books {
		stripes, err := sqldb.Column[int64](ctx, db, "SELECT stripe FROM chain_head WHERE book = ?", b.table)
		if err != nil {
			return err
		}
		for _, stripe := range stripes {
			if err := rewriteStripe(ctx, db, b, stripe); err != nil {
				return err
			}
		}
	}
	return rewriteRoots(ctx, db)
}

func rewriteStripe(ctx context.Context, db *sqldb.DB, b book, stripe int64) error {
	h := Head{book: b.table, stripe: stripe, hash: first(b.table, stripe)}
	rows, err := b.read(ctx, db, stripe, 0, rowsAtOnce)
	if err != nil {
		return err
	}
	for _, r := range rows {
		link := h.Add(r.content)
		if _, err := db.Exec(ctx, "UPDATE "+b.table+" SET link = ?, hash = ? WHERE id = ?", link.number, link.hash[:],
			r.id); err != nil {
			return err
		}
	}
	_, err = db.Exec(ctx, "UPDATE chain_head SET links = ?, hash = ? WHERE book = ? AND stripe = ?", h.links, h.hash[:],
		b.table, stripe)
	return err
}

func rewriteRoots(ctx context.Context, db *sqldb.DB) error {
	roots, err := sqldb.List(ctx, db, scanRoot, rootSelect+"ORDER BY day")
	if err != nil {
		return err
	}
	previous := ""
	for _, root := range roots {
		root.Previous = previous
		for i, e := range root.Stripes {
			var hash []byte
			found, err := db.First(ctx, []any{&root.Stripes[i].Links, &hash}, "SELECT link, hash FROM "+e.Book+
				" WHERE stripe = ? AND link <= ? ORDER BY link DESC LIMIT 1", e.Stripe, e.Links)
			if err != nil || !found {
				return err
			}
			root.Stripes[i].Hash = Hash(hash).String()
		}
		root.Hash = root.sum()
		previous = root.Hash
		ends, err := json.Marshal(root.Stripes)
		if err != nil {
			return err
		}
		if _, err := db.Exec(ctx, "UPDATE chain_root SET previous = ?, stripes = ?, hash = ? WHERE day = ?",
			root.Previous,
			string(ends), root.Hash, root.Day); err != nil {
			return err
		}
	}
	return nil
}
