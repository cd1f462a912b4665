package chain

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"redrain/internal/sqldb"
)

// Stripe is one chain of a book.
type Stripe struct {
	Book   string
	Number int64
}

// Mark is how far a stripe was found whole.
type Mark struct {
	Links int64
	Hash  Hash
}

// Marks are marks by stripe. A stripe without one is walked from its beginning.
type Marks map[Stripe]Mark

// Walked is what a walk has seen.
type Walked struct {
	Marks  Marks // the ends of the stripes
	Links  int64 // that were looked at
	Broken int64 // places that are broken
}

const (
	viewLimit  = time.Minute
	rowsAtOnce = 100 // a transaction may have 4,000 papers
	// maxLoose is how many rows that belong to no stripe are named for each book.
	maxLoose = 100

	notWhatWasChained = "is not what was chained: it was changed, or another put in its place"
)

// walk goes along stripes.
type walk struct {
	broken func(Break)
	see    func(book string, id int64) // hears of each row
	left   int64                       // rows that may still be looked at
	until  Marks                       // where the walk ends; nil: at the ends of the stripes
	done   Walked
}

func newWalk(from Marks, broken func(Break)) *walk {
	w := &walk{broken: broken, see: func(string, int64) {}, left: math.MaxInt64, done: Walked{Marks: maps.Clone(from)}}
	if w.done.Marks == nil {
		w.done.Marks = Marks{}
	}
	return w
}

// Walk goes along all stripes of all books, from the marks to their ends, and calls broken for each place at which a
// chain is not whole. It may run while others write: of each stripe it goes as far as its head, page by page, each page
// with the head as of one moment. The error is the database's.
func Walk(ctx context.Context, db *sqldb.DB, from Marks, broken func(Break)) (Walked, error) {
	w := newWalk(from, broken)
	for _, b := range books {
		if err := w.book(ctx, db, b); err != nil {
			return Walked{}, fmt.Errorf("walking the chain of %s: %w", b.table, err)
		}
	}
	return w.done, nil
}

func (w *walk) found(b Break) {
	w.done.Broken++
	w.broken(b)
}

func (w *walk) book(ctx context.Context, db *sqldb.DB, b book) error {
	numbers, err := w.stripes(ctx, db, b)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		for more := true; more; {
			err := db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) (err error) {
				more, err = w.page(ctx, tx, b, Stripe{b.table, n})
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error { return w.loose(ctx, tx, b) })
}

// stripes are the numbers of a book's stripes: those that have a head, and those that have had one.
func (w *walk) stripes(ctx context.Context, q sqldb.Querier, b book) ([]int64, error) {
	numbers, err := sqldb.Column[int64](ctx, q, "SELECT stripe FROM chain_head WHERE book = ? ORDER BY stripe",
		b.table)
	for s := range w.done.Marks {
		if s.Book == b.table {
			numbers = append(numbers, s.Number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), err
}

// page looks at the next rows of a stripe; more tells whether there may be others.
func (w *walk) page(ctx context.Context, tx sqldb.Querier, b book, s Stripe) (more bool, err error) {
	at, known := w.done.Marks[s]
	if !known {
		at = Mark{0, first(s.Book, s.Number)}
	}
	head, found, err := readHead(ctx, tx, s)
	if err != nil {
		return false, err
	}
	limit := rowsAtOnce
	if w.until != nil {
		if limit = int(min(rowsAtOnce, w.until[s].Links-at.Links)); limit <= 0 {
			return false, nil
		}
	}
	rows, err := b.read(ctx, tx, s.Number, at.Links, limit)
	if err != nil {
		return false, err
	}
	if rows, err = withStubs(ctx, tx, s, at.Links, rows); err != nil {
		return false, err
	}
	rows = rows[:min(len(rows), limit)]
	if w.until != nil { // a stub may be behind it, or a row where links are missing
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.link > w.until[s].Links })
	}
	for _, r := range rows {
		w.done.Links++
		w.left--
		if !r.stub {
			w.see(b.table, r.id)
		}
		switch {
		case found && r.link > head.Links:
			w.found(Break{s, r.link, r.id, r.name,
				fmt.Sprintf("was added behind the end of its chain, which has %d links",
					head.Links)})
			continue
		case r.link <= at.Links:
			w.found(Break{s, r.link, r.id, r.name, "is there although its row has left the books: one of them was " +
				"added by hand"})
			continue
		case r.link != at.Links+1:
			w.found(Break{s, at.Links + 1, 0, "", missing(at.Links+1, r.link-1) + " removed before " + r.who()})
		case len(r.hash) != len(at.Hash) || after(at.Hash, r.content) != Hash(r.hash):
			w.found(Break{s, r.link, r.id, r.name, notWhatWasChained})
		}
		at.Links = r.link
		if len(r.hash) == len(at.Hash) {
			at.Hash = Hash(r.hash)
		}
	}
	w.done.Marks[s] = at
	if w.until != nil {
		return len(rows) > 0, nil
	}
	if len(rows) == rowsAtOnce {
		return true, nil
	}
	switch {
	case !found:
		w.found(Break{s, at.Links, 0, "", "its head was removed"})
	case head.Links > at.Links:
		w.found(Break{s, at.Links + 1, 0, "", missing(at.Links+1, head.Links) + " removed at the end"})
	case head.Links < at.Links:
		w.found(Break{s, head.Links, 0, "", fmt.Sprintf("had %d links before, and has %d", at.Links, head.Links)})
	case head.Hash != at.Hash:
		w.found(Break{s, head.Links, 0, "", "its head is not its last link"})
	}
	return false, nil
}

func missing(from, to int64) string {
	if from == to {
		return fmt.Sprintf("link %d was", from)
	}
	return fmt.Sprintf("links %d to %d were", from, to)
}

func readHead(ctx context.Context, q sqldb.Querier, s Stripe) (m Mark, found bool, err error) {
	var hash []byte
	found, err = q.First(ctx, []any{&m.Links, &hash},
		"SELECT links, hash FROM chain_head WHERE book = ? AND stripe = ?",
		s.Book, s.Number)
	if len(hash) == len(m.Hash) {
		m.Hash = Hash(hash)
	}
	return m, found, err
}

// Break is a place at which a chain is not whole.
type Break struct {
	Stripe
	Link  int64  // 0: none
	Row   int64  // the row's id; 0: there is none
	Name  string // what the row is called
	Fault string
}

// String names the place.
func (b Break) String() string {
	what := map[string]string{Txns: "transaction", Audits: "audit record", Events: "event of a withdrawal",
		Histories: "line of a history"}[b.Book]
	if b.Row == 0 {
		return fmt.Sprintf("chain %d of the table %s, link %d: %s", b.Number, b.Book, b.Link, b.Fault)
	}
	return fmt.Sprintf("%s %d (%s; link %d of chain %d) %s", what, b.Row, b.Name, b.Link, b.Number, b.Fault)
}
