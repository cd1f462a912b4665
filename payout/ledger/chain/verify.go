package chain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"redrain/internal/sqldb"
)

// VerifyOptions limit a verification. The zero value verifies everything.
type VerifyOptions struct {
	From  string       // begin with the root of this day and trust earlier rows; "" = from the beginning
	Noted []Root       // trusted roots that were kept outside the database
	Found func(string) // is called with each fault
}

// Verified counts the parts of a verification.
type Verified struct {
	Roots  int   // days
	Blocks int64 // compared with their rows
	Rows   int64 // compared with their hashes
	Faults int64
}

// UnknownDayError means that the day has no root.
type UnknownDayError string

func (e UnknownDayError) Error() string { return fmt.Sprintf("there is no root of %s", string(e)) }

// Verify compares all rows with their hashes, these with the blocks, and the blocks with every root in the database
// and in o.Noted. It may run while others write. Its error is the database's.
func (r *Roots) Verify(ctx context.Context, o VerifyOptions) (v Verified, err error) {
	found := func(fault string) {
		v.Faults++
		o.Found(fault)
	}
	roots, err := believed(ctx, r.db, o.Noted, found)
	if err != nil {
		return v, err
	}
	w := &Walk{Found: found}
	if o.From != "" {
		begin := slices.IndexFunc(roots, func(root Root) bool { return root.Day == o.From })
		if begin < 0 {
			return v, UnknownDayError(o.From)
		}
		roots = roots[begin:]
		w.trusted = roots[0].Blocks
	}
	v.Roots = len(roots)
	if err := checkBlocks(ctx, r.db, roots, found); err != nil {
		return v, err
	}
	for more := true; more; {
		if more, err = w.Step(ctx, r.db); err != nil {
			return v, err
		}
	}
	v.Blocks, v.Rows = w.Blocks, w.Rows
	return v, nil
}

// CheckRoots compares the database's roots with each other and with the blocks that they name.
func CheckRoots(ctx context.Context, q sqldb.Querier, found func(string)) error {
	roots, err := believed(ctx, q, nil, found)
	if err != nil {
		return err
	}
	return checkBlocks(ctx, q, roots, found)
}

// believed returns the roots by day. A noted root takes precedence over the database's.
func believed(ctx context.Context, q sqldb.Querier, noted []Root, say func(string)) ([]Root, error) {
	found := func(format string, args ...any) { say(fmt.Sprintf(format, args...)) }
	kept, err := rootTable.List(ctx, q, "ORDER BY day")
	if err != nil {
		return nil, fmt.Errorf("read the roots: %w", err)
	}
	byDay := map[string]Root{}
	previous := ""
	for _, root := range kept {
		before := previous
		previous = root.Hash
		switch {
		case root.Hash != root.sum():
			found("the root of %s in the table root was changed: its hash is not that of its blocks", root.Day)
			continue
		case root.Previous != before:
			found("the root of %s does not follow the one before it in the table root: one of them was replaced, or "+
				"one between them removed", root.Day)
		}
		byDay[root.Day] = root
	}
	for _, root := range noted {
		is, known := byDay[root.Day]
		switch {
		case root.Hash != root.sum():
			found("the noted root of %s was changed: its hash is not that of its blocks", root.Day)
			continue
		case !known:
			found("the root of %s was noted, and is not in the table root, or was changed there", root.Day)
		case is.Hash != root.Hash:
			found("the root of %s is %s in the table root, but %s was noted", root.Day, is.Hash, root.Hash)
		}
		byDay[root.Day] = root
	}
	return slices.SortedFunc(maps.Values(byDay), func(a, b Root) int { return cmp.Compare(a.Day, b.Day) }), nil
}

// checkBlocks compares the blocks of roots with those in the database.
func checkBlocks(ctx context.Context, q sqldb.Querier, roots []Root, found func(string)) error {
	for _, r := range roots {
		for _, want := range r.Blocks {
			is, known, err := blockTable.Find(ctx, q, "WHERE book = ? AND number = ?", want.Book, want.Number)
			if err != nil {
				return fmt.Errorf("read the blocks of the root of %s: %w", r.Day, err)
			}
			if !known || is != want {
				found(fmt.Sprintf("block %d of the table %s is not the one of the root of %s: it, or a row before its "+
					"end, was changed or removed", want.Number, want.Book, r.Day))
			}
		}
	}
	return nil
}
