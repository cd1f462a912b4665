package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"redrain/internal/sqldb"
)

// Root says how long every stripe was soon after the end of a day, and what its last hash was. Whoever has it can tell
// that nothing from before was changed since, whatever has become of the database.
type Root struct {
	Day      string `json:"day"`      // that has ended, in UTC: 2026-11-23
	At       int64  `json:"at"`       // when it was taken, Unix ms
	Previous string `json:"previous"` // the hash of the root before; "" = it is the first
	Stripes  []End  `json:"stripes"`
	Hash     string `json:"root"` // SHA-256 of all of the above
}

// End is how long a stripe was.
type End struct {
	Book   string `json:"book"`
	Stripe int64  `json:"stripe"`
	Links  int64  `json:"links"`
	Hash   string `json:"hash"` // of the last link
}

// sum is the hash that the root must have.
func (r *Root) sum() string {
	var c Content
	c.Text(r.Day)
	c.Int(r.At)
	c.Text(r.Previous)
	for _, e := range r.Stripes {
		c.Text(e.Book)
		c.Int(e.Stripe)
		c.Int(e.Links)
		c.Text(e.Hash)
	}
	return c.Sum().String()
}

// Whole tells whether the root's hash is that of what it says.
func (r *Root) Whole() bool { return r.Hash == r.sum() }

// AllRoots are the roots that the database has, the oldest first.
func AllRoots(ctx context.Context, q sqldb.Querier) ([]Root, error) {
	roots, err := sqldb.List(ctx, q, scanRoot, rootSelect+"ORDER BY day")
	if err != nil {
		return nil, fmt.Errorf("the roots: %w", err)
	}
	return roots, nil
}

// Roots takes the roots of the days and keeps them. It is safe for concurrent use, here and by any number of processes
// on one database.
type Roots struct {
	db    *sqldb.DB
	clock func() int64
}

// NewRoots makes the roots of a migrated database. clock gives Unix ms.
func NewRoots(db *sqldb.DB, clock func() int64) *Roots {
	return &Roots{db: db, clock: clock}
}

// Take takes the root of yesterday. It returns nil where there is one already, and while nothing is chained. Days on
// which no node ran have no root of their own: the next one speaks for them.
func (r *Roots) Take(ctx context.Context) (taken *Root, err error) {
	now := r.clock()
	day := time.UnixMilli(now).UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	err = r.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		taken = nil
		root := Root{Day: day, At: now}
		var last string
		found, err := tx.First(ctx, []any{&last, &root.Previous},
			"SELECT day, hash FROM chain_root ORDER BY day DESC LIMIT 1")
		switch {
		case err != nil:
			return err
		case found && last > day:
			return fmt.Errorf("there is a root of %s already, a day that has not ended: the clock has gone back, or "+
				"somebody "+
				"has written to the table chain_root; no root is taken until that day is over", last)
		case found && last == day:
			return nil
		}
		if root.Stripes, err = readEnds(ctx, tx); err != nil || len(root.Stripes) == 0 {
			return err
		}
		root.Hash = root.sum()
		ends, err := json.Marshal(root.Stripes)
		if err != nil {
			return err
		}
		err = tx.Insert(ctx, "chain_root", []string{"day", "taken_at", "previous", "stripes", "hash"},
			[][]any{{root.Day, root.At, root.Previous, string(ends), root.Hash}}, sqldb.Merge{})
		if sqldb.IsDuplicate(err) {
			return errTaken
		}
		taken = &root
		return err
	})
	if errors.Is(err, errTaken) {
		return nil, nil //nolint:nilnil // another node was faster, so there is none to be told
	}
	if err != nil {
		return nil, fmt.Errorf("the root of %s: %w", day, err)
	}
	return taken, nil
}

var errTaken = errors.New("another node has taken it")

// Ends tells how long every stripe is now.
func (r *Roots) Ends(ctx context.Context) ([]End, error) {
	ends, err := readEnds(ctx, r.db)
	if err != nil {
		return nil, fmt.Errorf("the heads of the chains: %w", err)
	}
	return ends, nil
}

func readEnds(ctx context.Context, q sqldb.Querier) ([]End, error) {
	return sqldb.List(ctx, q, func(scan sqldb.Scan) (e End, err error) {
		var hash []byte
		err = scan(&e.Book, &e.Stripe, &e.Links, &hash)
		e.Hash = fmt.Sprintf("%x", hash)
		return e, err
	}, "SELECT book, stripe, links, hash FROM chain_head ORDER BY book, stripe")
}

const rootSelect = "SELECT day, taken_at, previous, stripes, hash FROM chain_root "

func scanRoot(scan sqldb.Scan) (root Root, err error) {
	var ends []byte
	if err := scan(&root.Day, &root.At, &root.Previous, &ends, &root.Hash); err != nil {
		return root, err
	}
	if err := json.Unmarshal(ends, &root.Stripes); err != nil {
		root.Stripes = nil // so its hash is wrong, which the check names
	}
	return root, nil
}

// ListRoots lists the roots, the newest first. An empty cursor begins; next is empty on the last page.
func (r *Roots) ListRoots(ctx context.Context, cursor string, limit int) (list []Root, next string, err error) {
	if cursor == "" {
		cursor = "~" // behind every day
	}
	list, err = sqldb.List(ctx, r.db, scanRoot, rootSelect+"WHERE day < ? ORDER BY day DESC LIMIT ?", cursor, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("the roots of the audit chains: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Day
	}
	return list, next, nil
}
