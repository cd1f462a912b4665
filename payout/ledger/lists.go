package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Lists reads and writes the lists of players and addresses.
type Lists struct {
	db    *sqldb.DB
	clock rain.Clock
}

// Errors of lists.
var (
	ErrUnknownList = errors.New("no such list")
	ErrListExists  = errors.New("a list of this name exists")
	ErrListBusy    = errors.New("an import into the list is running; try again when it has ended")
	ErrListInUse   = errors.New("a campaign that is not over uses the list")
	ErrListLeaving = errors.New("the list is being removed, and may have lost some of its members; remove it again " +
		"to end that")
)

// MaxListed is the largest number of members in one call.
const MaxListed = 1000

// MaxNetworks is the largest number of networks on a list of addresses: every node has them in memory.
const MaxNetworks = 100_000

// Create makes an empty list.
func (s *Lists) Create(ctx context.Context, name string, kind standing.ListKind, purpose standing.ListPurpose) (
	l standing.List, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now := s.clock()
		// Later than any revision of a removed list of this name, as old imports and nodes' caches may know it.
		l = standing.List{Name: name, Kind: kind, Purpose: purpose, Revision: now, CreatedAt: now, ChangedAt: now,
			ChangedBy: auditActor(ctx)}
		err := standing.ListTable.Insert(ctx, tx, sqldb.Merge{}, l)
		if sqldb.IsDuplicate(err) {
			return ErrListExists
		}
		if err != nil {
			return err
		}
		return auditChange(ctx, tx, now, change{}, listState(l))
	})
	return l, listError(name, err)
}

func listError(name string, err error) error { return sqldb.Wrap(err, "the list %q", name) }

func listState(l standing.List) change {
	return change{"list:" + l.Name, map[string]any{"kind": l.Kind, "purpose": l.Purpose, "members": l.Members,
		"revision": l.Revision}}
}

// List reads one list. It fails with ErrUnknownList if there is none.
func (s *Lists) List(ctx context.Context, name string) (standing.List, error) {
	l, err := readList(ctx, s.db, name, "")
	return l, listError(name, err)
}

func readList(ctx context.Context, q sqldb.Querier, name, lock string) (standing.List, error) {
	return standing.ListTable.Get(ctx, q, ErrUnknownList, "WHERE name = ?"+lock, name)
}

// ListLists lists all lists in the order of their names. "" is the first cursor. next is "" on the last page.
func (s *Lists) ListLists(ctx context.Context, after string, limit int) (list []standing.List, next string,
	err error) {
	list, next, err = standing.ListTable.ListPage(ctx, s.db, sqldb.Where{}, "name", after, limit)
	return list, next, sqldb.Wrap(err, "list the lists of players")
}

// Heads returns all lists, without their members.
func (s *Lists) Heads(ctx context.Context) ([]standing.List, error) {
	list, err := standing.ListTable.List(ctx, s.db, "ORDER BY name")
	return list, sqldb.Wrap(err, "read the lists of players")
}

// ListMember is a member of a list.
type ListMember struct {
	Who     string `json:"member"`
	AddedAt int64  `json:"added_at"` // Unix ms
}

var memberTable = sqldb.NewTable("list_member", func(m *ListMember) []any {
	return []any{"who", &m.Who, "added_at", &m.AddedAt}
})

// Members lists the members of a list, in the order of their ids.
func (s *Lists) Members(ctx context.Context, name, after string, limit int) (list []ListMember, next string,
	err error) {
	var where sqldb.Where
	where.And("list_name = ? AND removed_at = 0", name)
	list, next, err = memberTable.ListPage(ctx, s.db, where, "who", after, limit)
	return list, next, listError(name, err)
}

// Among returns the given ones that are on a list, with the times of their addition.
func (s *Lists) Among(ctx context.Context, name string, who []string) (on map[string]int64, err error) {
	on, err = membersAmong(ctx, s.db, name, who)
	return on, listError(name, err)
}

func membersAmong(ctx context.Context, q sqldb.Querier, name string, who []string) (map[string]int64, error) {
	return sqldb.PairsIn[string, int64](ctx, q, "SELECT who, added_at FROM list_member WHERE list_name = ? "+
		"AND removed_at = 0 AND who IN", who, name)
}

// change locks a list, changes it and raises its revision. A list whose removal has begun can only be removed.
func (s *Lists) change(ctx context.Context, name string, removal bool, do func(ctx context.Context, tx *sqldb.Tx,
	l *standing.List) error) (after standing.List, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		before, err := readList(ctx, tx, name, tx.ForUpdate())
		if err != nil {
			return err
		}
		if before.Purpose == standing.PurposeLeaving && !removal {
			return ErrListLeaving
		}
		now := s.clock()
		if before.BusyUntil > now {
			return ErrListBusy
		}
		after = before
		after.BusyUntil, after.ChangedAt, after.ChangedBy, after.Revision = 0, now, auditActor(ctx), before.Revision+1
		if err := changeList(ctx, tx, &after, do); err != nil {
			return err
		}
		return auditChange(ctx, tx, now, listState(before), listState(after))
	})
	return after, listError(name, err)
}

// changeList changes a list that tx has locked.
func changeList(ctx context.Context, tx *sqldb.Tx, l *standing.List, do func(ctx context.Context, tx *sqldb.Tx,
	l *standing.List) error) error {
	if err := do(ctx, tx, l); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE player_list SET purpose = ?, members = ?, revision = ?, busy_until = ?, "+
		"changed_at = ?, changed_by = ? WHERE name = ?", string(l.Purpose), l.Members, l.Revision,
		l.BusyUntil, l.ChangedAt, l.ChangedBy, l.Name)
	return err
}

// Add adds members, as returned by Kind.Canonical, to a list. Existing members are kept.
func (s *Lists) Add(ctx context.Context, name string, who []string) (standing.List, error) {
	return s.change(ctx, name, false, func(ctx context.Context, tx *sqldb.Tx, l *standing.List) error {
		return putMembers(ctx, tx, l, who, l.ChangedAt)
	})
}

// Remove removes members from a list. The ledger pays none of their later wins, from the commit on.
func (s *Lists) Remove(ctx context.Context, name string, who []string) (standing.List, error) {
	return s.change(ctx, name, false, func(ctx context.Context, tx *sqldb.Tx, l *standing.List) error {
		return dropMembers(ctx, tx, l, slices.Compact(slices.Sorted(slices.Values(who))), l.ChangedAt)
	})
}

// putMembers adds members to a list, and marks them with its revision.
func putMembers(ctx context.Context, tx *sqldb.Tx, l *standing.List, who []string, now int64) error {
	who = slices.Compact(slices.Sorted(slices.Values(who)))
	on, err := membersAmong(ctx, tx, l.Name, who)
	if err != nil {
		return err
	}
	rows := make([][]any, len(who))
	for i, one := range who {
		added, is := on[one]
		if !is {
			added = now
			l.Members++
		}
		rows[i] = []any{l.Name, one, added, 0, l.Revision}
	}
	columns := []string{"list_name", "who", "added_at", "removed_at", "mark"}
	err = tx.Insert(ctx, "list_member", columns, rows, sqldb.Merge{Key: columns[:2], Set: columns[2:]})
	if err != nil {
		return err
	}
	if l.Kind == standing.KindAddresses && l.Members > MaxNetworks {
		return rain.Invalid{{Field: "members", Message: fmt.Sprintf("a list has at most %d networks", MaxNetworks)}}
	}
	return nil
}

func dropMembers(ctx context.Context, tx *sqldb.Tx, l *standing.List, who []string, now int64) error {
	n, err := sqldb.ExecIn(ctx, tx, "UPDATE list_member SET removed_at = ? WHERE removed_at = 0 AND list_name = ? AND "+
		"who IN", who, now, l.Name)
	l.Members -= n
	return err
}

// checkInvited checks that a campaign's list exists, and locks it until tx ends.
func checkInvited(ctx context.Context, tx *sqldb.Tx, name string, now int64) error {
	if name == "" {
		return nil
	}
	l, err := readList(ctx, tx, name, tx.ForShare())
	switch {
	case errors.Is(err, ErrUnknownList):
		return rain.Invalid{{Field: "players.list", Message: "there is no list of this name"}}
	case err != nil:
		return err
	case l.Purpose == standing.PurposeLeaving:
		return rain.Invalid{{Field: "players.list", Message: "is being removed"}}
	case l.BusyUntil > now:
		return listError(name, ErrListBusy) // its members may still change
	case l.Purpose != standing.PurposeInvite || l.Kind != standing.KindPlayers:
		return rain.Invalid{{Field: "players.list", Message: "is not a list of players for inviting"}}
	}
	return nil
}
