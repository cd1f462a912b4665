package standing

import (
	"sync"

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

// Sanctions holds the bans that were read, and their times. It is safe for concurrent use.
type Sanctions struct {
	*sqldb.Mirror[Sanction]

	mu sync.RWMutex
	of map[string][]turn // by player, the oldest first
}

// turn is the time at which a ban begins or ends.
type turn struct {
	at     int64
	banned bool
}

// NewSanctions makes an empty Sanctions.
func NewSanctions() *Sanctions {
	l := &Sanctions{of: map[string][]turn{}}
	l.Mirror = sqldb.NewMirror(SanctionTable, func(s Sanction) int64 { return s.Number }, l.take)
	return l
}

// take applies the next rows, or all.
func (l *Sanctions) take(rows []Sanction, isAll bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isAll {
		clear(l.of)
	}
	for _, s := range rows {
		if s.Act != Disconnect {
			l.of[s.User] = append(l.of[s.User], turn{at: s.At, banned: s.Act == Ban})
		}
	}
}

// Banned reports whether a player is banned now.
func (l *Sanctions) Banned(user string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	turns := l.of[user]
	return len(turns) > 0 && turns[len(turns)-1].banned
}

// BannedAt reports whether a player was banned at a moment.
func (l *Sanctions) BannedAt(user string, at int64) (banned bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, t := range l.of[user] {
		if t.at <= at {
			banned = t.banned
		}
	}
	return banned
}
