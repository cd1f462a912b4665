package ledger

import (
	"context"
	"errors"
	"math"
	"strconv"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// ErrBanned says that a player is banned.
var ErrBanned = errors.New("the player is banned")

// Sanctions are what operators do about players.
type Sanctions struct {
	db    *sqldb.DB
	clock rain.Clock
}

// Give writes down what is done about a player. From the commit on the ledger pays nothing that a banned player wins,
// and lets them withdraw nothing, whatever any node does.
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
			return booking.AgainIfDuplicate(err) // another one has come first; so numbers have no gaps
		}
		is := act == standing.Ban || act == standing.Disconnect && was
		return auditChange(ctx, tx, g.At, change{"user:" + user, map[string]any{"banned": was}},
			change{"user:" + user, map[string]any{"banned": is, "sanction": g.Number}})
	})
	return g, sqldb.Wrap(err, "%s of player %q", act, user)
}

// banned tells whether a player is banned, and keeps it so until tx ends.
func banned(ctx context.Context, tx *sqldb.Tx, user string) (bool, error) {
	var act standing.SanctionAct
	_, err := tx.First(ctx, []any{&act}, "SELECT act FROM sanction WHERE user_id = ? AND act <> 'disconnect' "+
		"ORDER BY number DESC LIMIT 1"+tx.ForUpdate(), user)
	return act == standing.Ban, err
}

// mostSanctions is how many acts about one player are listed.
const mostSanctions = 100

// Of are the newest acts about a player, the newest first.
func (s *Sanctions) Of(ctx context.Context, user string) ([]standing.Sanction, error) {
	list, err := standing.SanctionTable.List(ctx, s.db, "WHERE user_id = ? ORDER BY number DESC LIMIT ?", user,
		mostSanctions)
	return list, sqldb.Wrap(err, "what was done about player %q", user)
}

// Bans are those that hold, the newest first. An empty cursor begins; next is empty on the last page.
func (s *Sanctions) Bans(ctx context.Context, cursor string,
	limit int) (list []standing.Sanction, next string, err error) {
	before, err := numberCursor(cursor, math.MaxInt64)
	if err != nil {
		return nil, "", err
	}
	list, next, err = standing.SanctionTable.ListPage(ctx, s.db, limit, func(g standing.Sanction) string {
		return strconv.FormatInt(g.Number, 10)
	}, "WHERE act = 'ban' AND number < ? AND NOT EXISTS (SELECT 1 FROM sanction later "+
		"WHERE later.user_id = sanction.user_id AND later.number > sanction.number AND later.act <> 'disconnect') "+
		"ORDER BY number DESC", before)
	return list, next, sqldb.Wrap(err, "who is banned")
}

// Refresh brings a list up to date, and returns what is new in it.
func (s *Sanctions) Refresh(ctx context.Context, l *standing.Sanctions) ([]standing.Sanction, error) {
	return l.Refresh(ctx, s.db)
}
