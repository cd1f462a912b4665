package ledger

import (
	"context"
	"errors"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// ErrBanned means that the player is banned.
var ErrBanned = errors.New("the player is banned")

// Sanctions reads and writes operators' acts about players.
type Sanctions struct {
	db    *sqldb.DB
	clock rain.Clock
}

// Give stores an act about a player. From the commit on the ledger pays no win of a banned player and accepts no
// withdrawal, whatever any node does.
func (s *Sanctions) Give(ctx context.Context, user string, act standing.SanctionAct, by Person) (g standing.Sanction,
	err error) {
	if err := rain.CheckUser(user); err != nil {
		return g, rain.Invalid{{Field: "user", Message: err.Error()}}
	}
	by = by.stored()
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		was, err := banned(ctx, tx, user)
		if err != nil {
			return err
		}
		var newest int64
		if _, err := tx.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(number), 0) FROM sanction"); err != nil {
			return err
		}
		g = standing.Sanction{Number: newest + 1, User: user, Act: act, Reason: by.Reason, By: by.Name, ByID: by.ID,
			At: s.clock()}
		err = standing.SanctionTable.Insert(ctx, tx, sqldb.Merge{}, g)
		if err != nil {
			return booking.AgainIfDuplicate(err) // another act came first; so numbers have no gaps
		}
		is := act == standing.Ban || act == standing.Disconnect && was
		return auditChange(ctx, tx, g.At, change{"user:" + user, map[string]any{"banned": was}},
			change{"user:" + user, map[string]any{"banned": is, "sanction": g.Number}})
	})
	return g, sqldb.Wrap(err, "%s player %q", act, user)
}

// banned reports whether a player is banned, and locks that until tx ends.
func banned(ctx context.Context, tx *sqldb.Tx, user string) (bool, error) {
	var act standing.SanctionAct
	_, err := tx.First(ctx, []any{&act}, "SELECT act FROM sanction WHERE user_id = ? AND act <> 'disconnect' "+
		"ORDER BY number DESC LIMIT 1"+tx.ForUpdate(), user)
	return act == standing.Ban, err
}

const mostSanctions = 100

// Of returns a player's newest acts, the newest first.
func (s *Sanctions) Of(ctx context.Context, user string) ([]standing.Sanction, error) {
	list, err := standing.SanctionTable.List(ctx, s.db, "WHERE user_id = ? ORDER BY number DESC LIMIT ?", user,
		mostSanctions)
	return list, sqldb.Wrap(err, "read the sanctions of player %q", user)
}

// Bans lists the present bans, the newest first. "" is the first cursor. next is "" on the last page.
func (s *Sanctions) Bans(ctx context.Context, cursor string,
	limit int) (list []standing.Sanction, next string, err error) {
	var where sqldb.Where
	where.And("act = 'ban' AND NOT EXISTS (SELECT 1 FROM sanction later WHERE later.user_id = sanction.user_id " +
		"AND later.number > sanction.number AND later.act <> 'disconnect')")
	list, next, err = standing.SanctionTable.ListPage(ctx, s.db, where, "number DESC", cursor, limit)
	return list, next, sqldb.Wrap(err, "list bans")
}

// Refresh updates a cache, and returns its new acts.
func (s *Sanctions) Refresh(ctx context.Context, l *standing.Sanctions) ([]standing.Sanction, error) {
	return l.Refresh(ctx, s.db)
}
