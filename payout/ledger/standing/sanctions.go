package standing

import (
	"sync"

	"redrain/internal/sqldb"
)

// SanctionAct is what an operator does about a player.
type SanctionAct string

// The acts.
const (
	Disconnect SanctionAct = "disconnect" // end the player's connections; they may come back
	Ban        SanctionAct = "ban"        // and let them neither come back, win nor withdraw
	Unban      SanctionAct = "unban"      // from now on
)

// Sanction is one act about one player.
type Sanction struct {
	Number int64
	User   string
	Act    SanctionAct
	Reason string
	By     string // who has done it
	ByID   string // whose credential it was
	At     int64  // Unix ms
}

// SanctionTable maps the rows of the table.
var SanctionTable = sqldb.NewTable("sanction", func(s *Sanction) []any {
	return []any{"number", &s.Number, "user_id", &s.User, "act", &s.Act, "reason", &s.Reason, "given_by", &s.By,
		"given_id", &s.ByID, "given_at", &s.At}
})

// Sanctions is who is banned and since when, as far as it was read. Its methods may be called from any goroutine.
type Sanctions struct {
	*sqldb.Mirror[Sanction]

	mu sync.RWMutex
	of map[string][]turn // by player, the oldest first
}

// turn is a moment from which on a player is banned, or not any more.
type turn struct {
	at     int64
	banned bool
}

// NewSanctions makes a list that has read nothing yet.
func NewSanctions() *Sanctions {
	l := &Sanctions{of: map[string][]turn{}}
	l.Mirror = sqldb.NewMirror(SanctionTable, func(s Sanction) int64 { return s.Number }, l.take)
	return l
}

// take takes the next acts, or all.
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

// Banned tells whether a player is banned.
func (l *Sanctions) Banned(user string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	turns := l.of[user]
	return len(turns) > 0 && turns[len(turns)-1].banned
}

// BannedAt tells whether a player was banned at a moment.
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
