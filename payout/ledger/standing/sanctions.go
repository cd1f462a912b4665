package standing

import (
	"math"

	"redrain/internal/sqldb"
)

// SanctionAct is an operator's act about a player.
type SanctionAct string

// The acts.
const (
	Disconnect SanctionAct = "disconnect" // close the player's connections; the player may reconnect
	Ban        SanctionAct = "ban"        // also prevent reconnects, wins and withdrawals
	Unban      SanctionAct = "unban"      // end a ban
)

// Sanction is one act about one player.
type Sanction struct {
	Number int64
	User   string
	Act    SanctionAct
	Reason string
	By     string // the operator
	ByID   string // the operator's credential
	At     int64  // Unix ms
}

// SanctionTable maps the rows of the table.
var SanctionTable = sqldb.NewTable("sanction", func(s *Sanction) []any {
	return []any{"number", &s.Number, "user_id", &s.User, "act", &s.Act, "reason", &s.Reason, "given_by", &s.By,
		"given_id", &s.ByID, "given_at", &s.At}
})

// Sanctions holds the bans that were read, and their times, the oldest first. It is safe for concurrent use.
type Sanctions struct{ *sqldb.Mirror[Sanction] }

// NewSanctions makes an empty Sanctions.
func NewSanctions() *Sanctions {
	return &Sanctions{sqldb.NewMirror(SanctionTable, func(s Sanction) (int64, string) { return s.Number, s.User },
		func(old []Sanction, s Sanction) []Sanction {
			if s.Act == Disconnect {
				return old
			}
			return append(old, Sanction{Act: s.Act, At: s.At})
		})}
}

// Banned reports whether a player is banned now.
func (l *Sanctions) Banned(user string) bool { return l.BannedAt(user, math.MaxInt64) }

// BannedAt reports whether a player was banned at a moment.
func (l *Sanctions) BannedAt(user string, at int64) (banned bool) {
	for _, s := range l.Rows(user) {
		if s.At <= at {
			banned = s.Act == Ban
		}
	}
	return banned
}
