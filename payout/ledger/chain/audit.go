package chain

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
)

// AuditOptions say how an audit is done. The zero value looks at everything.
type AuditOptions struct {
	From  string       // begin with the root of this day, and take what was before as it is; "" = from the beginning
	Noted []Root       // roots from outside of the database, which are believed
	Found func(string) // hears of each place that is not whole, in words
}

// Audited is what an audit has seen.
type Audited struct {
	Roots  int   // days
	Links  int64 // rows
	Broken int64 // places that are not whole
}

// UnknownDayError says that there is no root of a day to begin with.
type UnknownDayError string

func (e UnknownDayError) Error() string { return fmt.Sprintf("there is no root of %s", string(e)) }

// Audit is [Audit] of the database that the roots are kept in.
func (r *Roots) Audit(ctx context.Context, o AuditOptions) (Audited, error) {
	return Audit(ctx, r.db, o)
}

// Audit goes along the chains of all books, and holds them against every root: those that the database has, and those
// that were noted outside of it.
func Audit(ctx context.Context, db *sqldb.DB, o AuditOptions) (a Audited, err error) {
	found := func(format string, args ...any) {
		a.Broken++
		o.Found(fmt.Sprintf(format, args...))
	}
	kept, err := sqldb.List(ctx, db, scanRoot, rootSelect+"ORDER BY day")
	if err != nil {
		return a, fmt.Errorf("the roots: %w", err)
	}
	roots := believed(kept, o.Noted, found)
	marks := Marks{}
	begin := slices.IndexFunc(roots, func(r Root) bool { return r.Day == o.From })
	if o.From != "" {
		if begin < 0 {
			return a, UnknownDayError(o.From)
		}
		roots = roots[begin:]
		marks = MarksOf(roots[0].Stripes)
	}
	for _, root := range roots {
		a.Roots++
		if err := root.check(ctx, db, found); err != nil {
			return a, fmt.Errorf("the root of %s: %w", root.Day, err)
		}
	}
	walked, err := Walk(ctx, db, marks, func(b Break) { found("%s", b) })
	a.Links = walked.Links
	if err != nil {
		return a, err
	}
	return a, db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		return CheckStubs(ctx, tx, func(fault string) { found("%s", fault) })
	})
}

// believed are the roots by day, those that were noted outside before those of the database. It names roots that are
// not what was noted, and those that are not whole in themselves.
func believed(kept, noted []Root, found func(string, ...any)) []Root {
	byDay := map[string]Root{}
	for i, root := range kept {
		if root.Hash != root.sum() {
			found("the root of %s in the table chain_root was changed: its hash is not that of what it says", root.Day)
			continue
		}
		if i > 0 && root.Previous != kept[i-1].Hash {
			found("the root of %s does not follow the one of %s: one of them was replaced, or one between them removed",
				root.Day, kept[i-1].Day)
		}
		if i == 0 && root.Previous != "" {
			found("the root of %s is the first in the table chain_root, and there was one before it", root.Day)
		}
		byDay[root.Day] = root
	}
	for _, root := range noted {
		is, known := byDay[root.Day]
		switch {
		case root.Hash != root.sum():
			found("the noted root of %s was changed: its hash is not that of what it says", root.Day)
			continue
		case !known:
			found("the root of %s was noted, and is not in the table chain_root, or not whole there", root.Day)
		case is.Hash != root.Hash:
			found("the root of %s is %s in the table chain_root, but %s was noted", root.Day, is.Hash, root.Hash)
		}
		byDay[root.Day] = root
	}
	roots := make([]Root, 0, len(byDay))
	for _, root := range byDay {
		roots = append(roots, root)
	}
	slices.SortFunc(roots, func(a, b Root) int { return cmp.Compare(a.Day, b.Day) })
	return roots
}

// check holds the root against the links that it names.
func (r *Root) check(ctx context.Context, q sqldb.Querier, found func(string, ...any)) error {
	by := "the root of " + r.Day
	for _, e := range r.Stripes {
		if err := CheckEnd(ctx, q, by, e, func(fault string) { found("%s", fault) }); err != nil {
			return err
		}
	}
	return nil
}

// CheckEnd holds the end of a stripe as it was once, by what is named so, against the link that is there.
func CheckEnd(ctx context.Context, q sqldb.Querier, by string, e End, found func(fault string)) error {
	if !slices.ContainsFunc(books, func(b book) bool { return b.table == e.Book }) {
		found(fmt.Sprintf("%s speaks of a table %q, which is not chained", by, e.Book))
		return nil
	}
	var id int64
	var hash []byte
	exists, err := q.First(ctx, []any{&id, &hash}, "SELECT id, hash FROM "+e.Book+" WHERE stripe = ? AND link = ?",
		e.Stripe, e.Links)
	if err == nil && !exists {
		exists,
			err = q.First(ctx, []any{&hash}, "SELECT hash FROM chain_stub WHERE book = ? AND stripe = ? AND link = ?",
			e.Book, e.Stripe, e.Links)
	}
	switch {
	case err != nil:
		return err
	case !exists:
		found(fmt.Sprintf("chain %d of the table %s, link %d: by %s it was there, and is removed", e.Stripe, e.Book,
			e.Links, by))
	case hex.EncodeToString(hash) != e.Hash:
		found(fmt.Sprintf("row %d of the table %s (link %d of chain %d) has another hash than by %s: it, or a row "+
			"before it, was replaced", id, e.Book, e.Links, e.Stripe, by))
	}
	return nil
}
