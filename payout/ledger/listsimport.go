package ledger

import (
	"context"
	"fmt"
	"iter"
	"time"

	"redrain/internal/faults"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/standing"
)

// ImportChunk is the number of members in one transaction of an import.
const ImportChunk = 5000

// importPause is the idle time after which an import counts as aborted.
const importPause = time.Minute

// Import adds many members, as returned by Kind.Canonical, to a list, in many small transactions. With replace it
// then removes the other members. It takes effect when it has ended. If it is aborted, the members added so far stay,
// and a second import of the same members completes it.
func (s *Lists) Import(ctx context.Context, name string, replace bool, chunks iter.Seq[[]string]) (standing.List,
	error) {
	l, err := s.change(ctx, name, false, func(_ context.Context, _ *sqldb.Tx, l *standing.List) error {
		l.BusyUntil = s.clock() + importPause.Milliseconds()
		return nil
	})
	if err != nil {
		return l, err
	}
	begun := l.Revision
	for chunk := range chunks {
		l, err = s.step(ctx, name, begun, func(ctx context.Context, tx *sqldb.Tx, l *standing.List) error {
			return putMembers(ctx, tx, l, chunk, s.clock())
		})
		faults.Point("list.imported")
		if err != nil {
			return l, s.breakOff(ctx, name, begun, err)
		}
	}
	for after, left := "", replace; left; {
		var last string
		l, err = s.step(ctx, name, begun, func(ctx context.Context, tx *sqldb.Tx, l *standing.List) (err error) {
			var others []string
			if others, last, left, err = unnamed(ctx, tx, name, begun, after); err != nil {
				return err
			}
			return dropMembers(ctx, tx, l, others, s.clock())
		})
		if err != nil {
			return l, s.breakOff(ctx, name, begun, err)
		}
		after = last // after the commit: a transaction may be retried
	}
	return s.step(ctx, name, begun, func(ctx context.Context, tx *sqldb.Tx, l *standing.List) error {
		l.BusyUntil, l.ChangedAt = 0, s.clock()
		l.Revision++
		return auditChange(ctx, tx, l.ChangedAt, change{}, listState(*l))
	})
}

// unnamed returns the next page of members that the import did not name. begun is its first revision. more reports
// whether another page follows, after last.
func unnamed(ctx context.Context, q sqldb.Querier, name string, begun int64, after string) (who []string, last string,
	more bool, err error) {
	n := 0
	last = after
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var removed, mark int64
		err := scan(&last, &removed, &mark)
		if n++; removed == 0 && mark != begun {
			who = append(who, last)
		}
		return err
	}, "SELECT who, removed_at, mark FROM list_member WHERE list_name = ? AND who > ? ORDER BY who LIMIT ?", name,
		after, sqldb.Chunk)
	return who, last, n == sqldb.Chunk, err
}

// Delete removes a list that no campaign needs any more: its members in several steps, and then the list. From the
// first step on its purpose is leaving. So no campaign can name it, and a partial list has no effect. If Delete is
// aborted, a second call completes it.
func (s *Lists) Delete(ctx context.Context, name string) error {
	l, err := s.change(ctx, name, true, func(ctx context.Context, tx *sqldb.Tx, l *standing.List) error {
		l.Purpose, l.BusyUntil = standing.PurposeLeaving, s.clock()+importPause.Milliseconds()
		return unused(ctx, tx, name)
	})
	if err != nil {
		return err
	}
	begun := l.Revision
	for left := true; left && err == nil; {
		_, err = s.step(ctx, name, begun, func(ctx context.Context, tx *sqldb.Tx, _ *standing.List) error {
			who, err := sqldb.Column[string](ctx, tx, "SELECT who FROM list_member WHERE list_name = ? ORDER BY who "+
				"LIMIT ?", name, sqldb.Chunk)
			left = len(who) == sqldb.Chunk
			if err == nil {
				_, err = sqldb.ExecIn(ctx, tx, "DELETE FROM list_member WHERE list_name = ? AND who IN", who, name)
			}
			return err
		})
	}
	if err == nil {
		_, err = s.step(ctx, name, begun, func(ctx context.Context, tx *sqldb.Tx, l *standing.List) error {
			if _, err := tx.Exec(ctx, "DELETE FROM player_list WHERE name = ?", name); err != nil {
				return err
			}
			return auditChange(ctx, tx, s.clock(), listState(*l),
				change{"list:" + name, map[string]any{"deleted": true}})
		})
	}
	if err != nil {
		return s.breakOff(ctx, name, begun, err)
	}
	return nil
}

func unused(ctx context.Context, tx *sqldb.Tx, name string) error {
	var campaign string
	used, err := tx.First(ctx, []any{&campaign}, "SELECT id FROM campaign WHERE players_list = ? AND drained = 0 "+
		"LIMIT 1", name)
	if err == nil && used {
		err = fmt.Errorf("%w: %s", ErrListInUse, campaign)
	}
	return err
}

// step is one transaction of an import or a removal. begun is its first revision of the list.
func (s *Lists) step(ctx context.Context, name string, begun int64, do func(ctx context.Context, tx *sqldb.Tx,
	l *standing.List) error) (l standing.List, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if l, err = readList(ctx, tx, name, tx.ForUpdate()); err != nil {
			return err
		}
		if l.Revision != begun {
			return ErrListBusy // it was idle for too long, and another change came
		}
		l.BusyUntil = s.clock() + importPause.Milliseconds()
		return changeList(ctx, tx, &l, do)
	})
	return l, listError(name, err)
}

// breakOff ends the import, so that the list can be changed at once, and returns why.
func (s *Lists) breakOff(ctx context.Context, name string, begun int64, why error) error {
	_, _ = s.step(context.WithoutCancel(ctx), name, begun, func(_ context.Context, _ *sqldb.Tx,
		l *standing.List) error {
		l.BusyUntil = 0
		l.Revision++
		return nil
	}) // else it counts as aborted after a minute
	return why
}
