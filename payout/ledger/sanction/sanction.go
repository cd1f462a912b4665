// Package sanction is what operators do about players: it ends their connections, bans them, and lifts the ban. Rows of
// the table sanction are only added, and numbered without gaps in the order in which they are committed; so whoever has
// read up to a number reads on from there, and has missed nothing.
package sanction

import (
	"context"
	"fmt"
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
	refreshing sync.Mutex // one reads at a time; it is held while the database is asked, and mu is not

	mu     sync.RWMutex
	number int64             // of the newest act that was read; changes under both locks
	of     map[string][]turn // by player, the oldest first
}

// turn is a moment from which on a player is banned, or not any more.
type turn struct {
	at     int64
	banned bool
}

// NewList is a list of which nothing was read yet.
func NewList() *List { return &List{of: map[string][]turn{}} }

// atOnce is how many rows are read by one query.
const atOnce = 1000

// Refresh reads what is new, and returns it, the oldest first. Where the ledger was put back from a backup, and knows
// less than was read before, all of it is read again, and none of that is new.
func (l *List) Refresh(ctx context.Context, q sqldb.Querier) (fresh []Sanction, err error) {
	l.refreshing.Lock()
	defer l.refreshing.Unlock()
	var newest int64
	if _, err := q.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(number), 0) FROM sanction"); err != nil {
		return nil, fmt.Errorf("reading who is banned: %w", err)
	}
	read := l
	again := newest < l.number
	if again {
		read = NewList()
	}
	for read.number < newest {
		rows, err := sqldb.List(ctx, q, Scan, "SELECT "+Columns+" FROM sanction WHERE number > ? "+
			"ORDER BY number LIMIT ?", read.number, atOnce)
		if err != nil {
			return fresh, fmt.Errorf("reading who is banned: %w", err)
		}
		if len(rows) == 0 {
			break
		}
		read.take(rows)
		if !again {
			fresh = append(fresh, rows...)
		}
	}
	if again {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.number, l.of = read.number, read.of
	}
	return fresh, nil
}

// take takes the next acts.
func (l *List) take(rows []Sanction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range rows {
		l.number = s.Number
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
