// Package sanction is what operators do about players: it ends their connections, bans them, and lifts the ban. Rows of
// the table sanction are only added, and numbered without gaps in the order in which they are committed; so whoever has
// read up to a number reads on from there, and has missed nothing.
package sanction

import (
	"sync"

	"redrain/internal/sqldb"
)

// Act is what is done.
type Act string

// The acts.
const (
	Disconnect Act = "disconnect" // end the player's connections; they may come back
	Ban        Act = "ban"        // and let them neither come back, win nor withdraw
	Unban      Act = "unban"      // from now on
)

// Sanction is one act about one player.
type Sanction struct {
	Number int64
	User   string
	Act    Act
	Reason string
	By     string // who has done it
	ByID   string // whose credential it was
	At     int64  // Unix ms
}

// Columns are those of the table, in the order in which Scan reads them.
const Columns = "number, user_id, act, reason, given_by, given_id, given_at"

// Scan reads a row.
func Scan(scan sqldb.Scan) (s Sanction, err error) {
	err = scan(&s.Number, &s.User, &s.Act, &s.Reason, &s.By, &s.ByID, &s.At)
	return s, err
}

// List is who is banned and since when, as far as it was read. Its methods may be called from any goroutine.
type List struct {
	*sqldb.Mirror[Sanction]

	mu sync.RWMutex
	of map[string][]turn // by player, the oldest first
}

// turn is a moment from which on a player is banned, or not any more.
type turn struct {
	at     int64
	banned bool
}

// NewList is a list of which nothing was read yet.
func NewList() *List {
	l := &List{of: map[string][]turn{}}
	l.Mirror = sqldb.NewMirror("sanction", Columns, Scan, func(s Sanction) int64 { return s.Number }, l.take)
	return l
}

// take takes the next acts, or all.
func (l *List) take(rows []Sanction, isAll bool) {
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
func (l *List) Banned(user string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	turns := l.of[user]
	return len(turns) > 0 && turns[len(turns)-1].banned
}

// BannedAt tells whether a player was banned at a moment.
func (l *List) BannedAt(user string, at int64) (banned bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, t := range l.of[user] {
		if t.at <= at {
			banned = t.banned
		}
	}
	return banned
}
