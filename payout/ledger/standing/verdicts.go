package standing

import (
	"encoding/json"

	"redrain/internal/sqldb"
)

// VerdictAct is the effect of a verdict on a player's wins.
type VerdictAct string

// The acts.
const (
	Allow VerdictAct = "allow" // pay them
	Hold  VerdictAct = "hold"  // hold them until an operator decides
	Deny  VerdictAct = "deny"  // hold them, and refuse the player at the gateway
)

// Reason is one statement of a rule, another system or an operator about a player.
type Reason struct {
	Rule     string `json:"rule"`
	Score    int    `json:"score"`
	Sentence string `json:"sentence"`
}

// Verdict is one verdict about one player.
type Verdict struct {
	Number  int64
	User    string
	Act     VerdictAct
	Score   int
	Reasons string // JSON: a list of Reason
	By      string // rules, risk-url, or an operator
	At      int64  // Unix ms
}

// Held reports whether the player's wins are held.
func (v Verdict) Held() bool { return v.Act == Hold || v.Act == Deny }

// maxReasons is the length limit of a verdict's reasons, in bytes.
const maxReasons = 2000

// EncodeReasons returns the JSON of reasons. It leaves out the last ones if they do not fit into the table.
func EncodeReasons(reasons []Reason) string {
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

// ParseReasons is the inverse of EncodeReasons. It returns no reasons for an invalid text.
func ParseReasons(text string) (reasons []Reason) {
	if json.Unmarshal([]byte(text), &reasons) != nil || reasons == nil {
		return []Reason{}
	}
	return reasons
}

// VerdictTable maps the rows of the table.
var VerdictTable = sqldb.NewTable("verdict", func(v *Verdict) []any {
	return []any{"number", &v.Number, "user_id", &v.User, "verdict", &v.Act, "score", &v.Score, "reasons", &v.Reasons,
		"given_by", &v.By, "given_at", &v.At}
})

// Verdicts holds the newest verdict about each player that was read. It is safe for concurrent use.
type Verdicts struct{ *sqldb.Mirror[Verdict] }

// NewVerdicts makes an empty Verdicts.
func NewVerdicts() *Verdicts {
	return &Verdicts{sqldb.NewMirror(VerdictTable, func(v Verdict) (int64, string) { return v.Number, v.User },
		func(_ []Verdict, v Verdict) []Verdict { return []Verdict{v} })}
}

// Of returns the newest verdict about a player.
func (l *Verdicts) Of(user string) (v Verdict, found bool) {
	for _, v = range l.Rows(user) {
		found = true
	}
	return v, found
}

// Denied reports whether the newest verdict about a player is Deny. A nil list denies no player.
func (l *Verdicts) Denied(user string) bool {
	if l == nil {
		return false
	}
	newest, _ := l.Of(user)
	return newest.Act == Deny
}
