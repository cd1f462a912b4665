package chain

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"redrain/internal/sqldb"
)

// The books that are chained, by the names of their tables.
const (
	Txns      = "txn"
	Audits    = "audit"
	Events    = "withdrawal_event"
	Histories = "history"
)

// Head is the end of a stripe, which nobody else can write until the transaction ends.
type Head struct {
	book   string
	stripe int64
	links  int64
	hash   Hash
	fresh  bool // the stripe has no row yet
}

// Link is a row's place in its stripe.
type Link struct {
	stripe, number int64
	hash           Hash
}

// first is what the first link of a stripe follows.
func first(book string, stripe int64) Hash {
	var c Content
	c.Text(book)
	c.Int(stripe)
	return c.Sum()
}

// Take locks the head of a stripe that nobody holds.
func Take(ctx context.Context, tx *sqldb.Tx, book string) (*Head, error) {
	h := &Head{book: book}
	var hash []byte
	found, err := tx.First(ctx, []any{&h.stripe, &h.links, &hash},
		"SELECT stripe, links, hash FROM chain_head WHERE book = ? ORDER BY stripe LIMIT 1"+tx.SkipLocked(), book)
	switch {
	case err != nil:
		return nil, fmt.Errorf("taking a stripe of the chain of %s: %w", book, err)
	case found && len(hash) == len(h.hash):
		h.hash = Hash(hash)
		return h, nil
	}
	// Also where a head cannot be read: the chain goes on elsewhere, and the walk names it.
	h.stripe = rand.Int64N(math.MaxInt32) //nolint:gosec // two that are made at once are hardly the same
	h.links, h.hash, h.fresh = 0, first(book, h.stripe), true
	return h, nil
}

// Add ties the next row to the stripe.
func (h *Head) Add(content Hash) Link {
	h.links++
	h.hash = after(h.hash, content)
	return Link{h.stripe, h.links, h.hash}
}

// Save writes the head as it is now.
func (h *Head) Save(ctx context.Context, tx *sqldb.Tx) error {
	if h.fresh {
		h.fresh = false
		return tx.Insert(ctx, "chain_head", []string{"book", "stripe", "links", "hash"},
			[][]any{{h.book, h.stripe, h.links, h.hash[:]}}, sqldb.Merge{})
	}
	_, err := tx.Exec(ctx, "UPDATE chain_head SET links = ?, hash = ? WHERE book = ? AND stripe = ?", h.links,
		h.hash[:],
		h.book, h.stripe)
	if err != nil {
		return fmt.Errorf("the head of the chain of %s: %w", h.book, err)
	}
	return nil
}
