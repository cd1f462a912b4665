// Package verdict is what speaks against players. Rows of the table verdict are only added, and numbered without gaps
// in the order in which they are committed, as those of package sanction; a player's newest one counts. Whoever posts
// wins reads what is new first, so a verdict holds for everything that is posted after its commit, by any node.
package verdict

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"redrain/internal/sqldb"
)

// Act is what is to happen with what a player wins.
type Act string

// The acts.
const (
	Allow Act = "allow" // it is paid
	Hold  Act = "hold"  // it is kept apart until a person has decided
	Deny  Act = "deny"  // the same, and the player is not let in
)

// Reason is what a rule, another system or a person has said of a player.
type Reason struct {
	Rule     string `json:"rule"`
	Score    int    `json:"score"`
	Sentence string `json:"sentence"`
}

// Verdict is one verdict about one player.
type Verdict struct {
	Number  int64
	User    string
	Act     Act
	Score   int
	Reasons string // JSON: a list of Reason
	By      string // rules, risk-url, or an operator
	At      int64  // Unix ms
}

// Held tells whether what the player wins is kept apart.
func (v Verdict) Held() bool { return v.Act == Hold || v.Act == Deny }

// maxReasons is how long the reasons of a verdict are at most, in bytes.
const maxReasons = 2000

// Text is the JSON of reasons; of so many that they fit into the table.
func Text(reasons []Reason) string {
	for n := len(reasons); ; n-- {
		text, err := json.Marshal(reasons[:n])
		if n == 0 || err != nil {
			return "[]"
		}
		if stored := sqldb.Storable(string(text), maxReasons); stored == string(text) {
			return stored
		}
	}
}

// Parse is Text backwards. Of what somebody has changed nothing is left.
func Parse(text string) (reasons []Reason) {
	if json.Unmarshal([]byte(text), &reasons) != nil || reasons == nil {
		return []Reason{}
	}
	return reasons
}

// Columns are those of the table, in the order in which Scan reads them.
const Columns = "number, user_id, verdict, score, reasons, given_by, given_at"

// Scan reads a row.
func Scan(scan sqldb.Scan) (v Verdict, err error) {
	err = scan(&v.Number, &v.User, &v.Act, &v.Score, &v.Reasons, &v.By, &v.At)
	return v, err
}

// List is the newest verdict about each player, as far as it was read. Its methods may be called from any goroutine.
type List struct {
	refreshing sync.Mutex // one reads at a time; it is held while the database is asked, and mu is not

	mu     sync.RWMutex
	number int64              // changes under both locks
	of     map[string]Verdict // those that were allowed again among them
}

// NewList is a list of which nothing was read yet.
func NewList() *List { return &List{of: map[string]Verdict{}} }

// atOnce is how many rows are read by one query.
const atOnce = 1000

// Refresh reads what is new, and returns it, the oldest first. Where the ledger was put back from a backup, and knows
// less than was read before, all of it is read again, and none of that is new.
func (l *List) Refresh(ctx context.Context, q sqldb.Querier) (fresh []Verdict, err error) {
	l.refreshing.Lock()
	defer l.refreshing.Unlock()
	var newest int64
	if _, err := q.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(number), 0) FROM verdict"); err != nil {
		return nil, fmt.Errorf("reading the verdicts about players: %w", err)
	}
	read := l
	again := newest < l.number
	if again {
		read = NewList()
	}
	for read.number < newest {
		rows, err := sqldb.List(ctx, q, Scan, "SELECT "+Columns+" FROM verdict WHERE number > ? "+
			"ORDER BY number LIMIT ?", read.number, atOnce)
		if err != nil {
			return fresh, fmt.Errorf("reading the verdicts about players: %w", err)
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

// take takes the next verdicts.
func (l *List) take(rows []Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range rows {
		l.number, l.of[v.User] = v.Number, v
	}
}

// Of is the newest verdict about a player.
func (l *List) Of(user string) (v Verdict, found bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v, found = l.of[user]
	return v, found
}
