// Package verdict is what speaks against players. Rows of the table verdict are only added, and numbered without gaps
// in the order in which they are committed, as those of package sanction; a player's newest one counts. Whoever posts
// wins reads what is new first, so a verdict holds for everything that is posted after its commit, by any node.
package verdict

import (
	"encoding/json"
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
	*sqldb.Mirror[Verdict]

	mu sync.RWMutex
	of map[string]Verdict // those that were allowed again among them
}

// NewList is a list of which nothing was read yet.
func NewList() *List {
	l := &List{of: map[string]Verdict{}}
	l.Mirror = sqldb.NewMirror("verdict", Columns, Scan, func(v Verdict) int64 { return v.Number }, l.take)
	return l
}

// take takes the next verdicts, or all.
func (l *List) take(rows []Verdict, isAll bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isAll {
		clear(l.of)
	}
	for _, v := range rows {
		l.of[v.User] = v
	}
}

// Of is the newest verdict about a player.
func (l *List) Of(user string) (v Verdict, found bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v, found = l.of[user]
	return v, found
}

// Denied reports whether the newest verdict about a player is Deny. A nil list denies no player.
func (l *List) Denied(user string) bool {
	if l == nil {
		return false
	}
	newest, found := l.Of(user)
	return found && newest.Act == Deny
}
