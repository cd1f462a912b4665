package reconcile

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/playerlist"
)

// lists holds the members of some lists against the lists' digests, each list as of one moment. The lists themselves
// are held against their histories.
func (r *fullProof) lists(ctx context.Context) (more bool, err error) {
	for seen := int64(0); seen < sliceRows; {
		var name string
		err := r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			if name, err = nextList(ctx, tx, r.at.After); err != nil || name == "" {
				return err
			}
			rows, err := checkMembers(ctx, tx, name, &r.found)
			seen += rows + 1
			r.progress.Done += rows
			return err
		})
		if err != nil || name == "" {
			return false, err
		}
		r.at.After = name
	}
	return true, nil
}

// nextList is the next name of a list, or of a list that members are of; "" where there is none.
func nextList(ctx context.Context, q sqldb.Querier, after string) (name string, err error) {
	for _, query := range []string{"SELECT COALESCE(MIN(name), '') FROM player_list WHERE name > ?",
		"SELECT COALESCE(MIN(list_name), '') FROM list_member WHERE list_name > ?"} {
		var next string
		if _, err := q.First(ctx, []any{&next}, query, after); err != nil {
			return "", err
		}
		if name == "" || next != "" && next < name {
			name = next
		}
	}
	return name, nil
}

// checkMembers adds up the members of a list, page by page.
func checkMembers(ctx context.Context, q sqldb.Querier, name string, found *findings) (rows int64, err error) {
	list, err := sqldb.List(ctx, q, playerlist.Scan, "SELECT "+playerlist.Columns+" FROM player_list WHERE name = ?",
		name)
	if err != nil {
		return 0, err
	}
	var is playerlist.Digest
	var members int64
	for after, more := "", true; more; {
		n := int64(0)
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			row, err := playerlist.ScanRow(scan)
			if err != nil {
				return err
			}
			is.Add(row)
			if row.Removed == 0 {
				members++
			}
			n, after = n+1, row.Who
			return nil
		}, "SELECT "+playerlist.RowColumns+" FROM list_member WHERE list_name = ? AND who > ? ORDER BY who LIMIT ?",
			name, after, membersAtOnce)
		if err != nil {
			return rows, err
		}
		rows, more = rows+n, n == membersAtOnce
	}
	switch {
	case len(list) == 0:
		found.add("members of no list", name, "list %s: there are %d rows of members, but no such list", name, rows)
	case list[0].Digest != is:
		found.add("members that are not the list's", name, "list %s: its members (%d, of whom it counts %d) are not "+
			"those that the ledger has put on it: somebody has added, changed or removed some", name, members,
			list[0].Members)
	case list[0].Members != members:
		found.add("a wrong count of members", name, "list %s: it counts %d members, and there are %d", name,
			list[0].Members, members)
	}
	return rows, nil
}

// membersAtOnce is how many members one query reads.
const membersAtOnce = 5_000
