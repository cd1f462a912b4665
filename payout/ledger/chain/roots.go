package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"redrain/internal/sqldb"
)

// Root is the newest block of each book soon after the end of a day. A root that is kept outside the database proves
// that no row of that day or earlier was changed since.
type Root struct {
	Day      string  `json:"day"`      // in UTC: 2026-11-23
	At       int64   `json:"at"`       // Unix ms
	Previous string  `json:"previous"` // the hash of the previous root; "" = this is the first
	Blocks   []Block `json:"blocks"`
	Hash     string  `json:"root"` // SHA-256 of all of the above
}

// sum is the hash that the root must have.
func (r *Root) sum() string {
	var c Content
	c.Add(r.Day, r.At, r.Previous)
	for _, b := range r.Blocks {
		c.Add(b.Book, b.Number, b.Last, b.Rows, b.Hash)
	}
	return c.Sum().String()
}

// Roots takes and stores the daily roots. It is safe for concurrent use, also by several processes on one database.
type Roots struct {
	db    *sqldb.DB
	clock func() int64
}

// NewRoots makes the roots of a migrated database. clock gives Unix ms.
func NewRoots(db *sqldb.DB, clock func() int64) *Roots {
	return &Roots{db: db, clock: clock}
}

// rootAfter is the least delay of a root after the end of its day. Nodes' clocks differ by less.
const rootAfter = 5 * time.Minute

// dayEnd returns the end of the newest day whose root may be taken.
func dayEnd(nowMS int64) time.Time {
	return time.UnixMilli(nowMS).UTC().Add(-rootAfter).Truncate(24 * time.Hour)
}

// Take takes the root of yesterday. It returns nil if the root exists, or if there are no blocks yet. If no node ran
// on a day, the day has no root, and the next one covers it.
func (r *Roots) Take(ctx context.Context) (taken *Root, err error) {
	now := r.clock()
	day := dayEnd(now).AddDate(0, 0, -1).Format(time.DateOnly)
	err = r.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		taken = nil
		root := Root{Day: day, At: now}
		var last string
		found, err := tx.First(ctx, []any{&last, &root.Previous},
			"SELECT day, hash FROM root ORDER BY day DESC LIMIT 1")
		switch {
		case err != nil:
			return err
		case found && last > day:
			return fmt.Errorf("there is a root of %s already, a day that has not ended: the clock has gone back, or "+
				"an outsider has written to the table root; no root is taken until that day is over", last)
		case found && last == day:
			return nil
		}
		for _, book := range books {
			b, err := newest(ctx, tx, book)
			if err != nil {
				return err
			}
			if b.Number > 0 {
				root.Blocks = append(root.Blocks, b)
			}
		}
		if len(root.Blocks) == 0 {
			return nil
		}
		root.Hash = root.sum()
		taken = &root
		return rootTable.Insert(ctx, tx, sqldb.Merge{}, root)
	})
	switch {
	case sqldb.IsDuplicate(err):
		return nil, nil //nolint:nilnil // another node was faster
	case err != nil:
		return nil, fmt.Errorf("take the root of %s: %w", day, err)
	}
	return taken, nil
}

var rootTable = sqldb.NewTable("root", func(r *Root) []any {
	return []any{"day", &r.Day, "taken_at", &r.At, "previous", &r.Previous,
		"blocks", sqldb.Via(func() string {
			text, _ := json.Marshal(r.Blocks) // texts and integers always marshal
			return string(text)
		}, func(text string) error {
			if err := json.Unmarshal([]byte(text), &r.Blocks); err != nil {
				r.Blocks = nil // its hash is now wrong, which the check reports
			}
			return nil
		}), "hash", &r.Hash}
})

// ListRoots lists the roots, the newest first. "" is the first cursor. next is "" on the last page.
func (r *Roots) ListRoots(ctx context.Context, cursor string, limit int) (list []Root, next string, err error) {
	list, next, err = rootTable.ListPage(ctx, r.db, sqldb.Where{}, "day DESC", cursor, limit)
	return list, next, sqldb.Wrap(err, "list the roots")
}
