package ledger

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Risk reads and writes verdicts about players, and their held wins.
type Risk struct {
	db    *sqldb.DB
	clock rain.Clock
}

// ByRules and ByService are the automatic sources of verdicts. Any other source is a person.
const (
	ByRules   = "rules"
	ByService = "risk-url"
)

// Give stores verdicts of the source by, and returns the number of new ones. It uses only their user, act, score and
// reasons. It skips verdicts that repeat the newest one, automatic verdicts after a person's, and a hold of the rules
// after another system's deny. From the commit on the verdicts apply to all later postings, on any node.
func (s *Risk) Give(ctx context.Context, by string, given ...standing.Verdict) (fresh int, err error) {
	by = sqldb.Storable(by, maxActor)
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now := s.clock()
		var newest int64
		if _, err := tx.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(number), 0) FROM verdict"); err != nil {
			return err
		}
		var rows []standing.Verdict
		for _, v := range given {
			was, found, err := newestVerdict(ctx, tx, v.User)
			switch {
			case err != nil:
				return err
			case found && saidAgain(was, v, by),
				found && machine(by) && !machine(was.By),
				by == ByRules && found && was.By == ByService && was.Act == standing.Deny && v.Act == standing.Hold,
				!found && v.Act == standing.Allow && machine(by):
				continue
			}
			newest++
			v.Number, v.By, v.At = newest, by, now
			rows = append(rows, v)
		}
		fresh = len(rows)
		// If another node was first, the verdicts are numbered again, so that numbers have no gaps.
		return booking.AgainIfDuplicate(standing.VerdictTable.Insert(ctx, tx, sqldb.Merge{}, rows...))
	})
	return fresh, sqldb.Wrap(err, "store %d verdicts about players", len(given))
}

// saidAgain reports whether a verdict adds nothing to the newest one. Of another system the reasons count, too.
func saidAgain(was, v standing.Verdict, by string) bool {
	return was.By == by && was.Act == v.Act && was.Score >= v.Score && (by != ByService || was.Reasons == v.Reasons)
}

func machine(by string) bool { return by == ByRules || by == ByService }

func newestVerdict(ctx context.Context, q sqldb.Querier, user string) (v standing.Verdict, found bool, err error) {
	return standing.VerdictTable.Find(ctx, q, "WHERE user_id = ? ORDER BY number DESC LIMIT 1", user)
}

// Verdict reads the newest verdict about a player.
func (s *Risk) Verdict(ctx context.Context, user string) (v standing.Verdict, found bool, err error) {
	v, found, err = newestVerdict(ctx, s.db, user)
	return v, found, sqldb.Wrap(err, "read the verdict about player %q", user)
}

// Refresh updates a cache, and returns its new verdicts.
func (s *Risk) Refresh(ctx context.Context, l *standing.Verdicts) ([]standing.Verdict, error) {
	return l.Refresh(ctx, s.db)
}

// Trust lets players take part and be paid again, whatever rules and other systems decide later. Held wins stay held.
func (s *Risk) Trust(ctx context.Context, users []string, by Person) error {
	for i, user := range users {
		if err := rain.CheckUser(user); err != nil {
			return rain.Invalid{{Field: fmt.Sprintf("users[%d]", i), Message: err.Error()}}
		}
	}
	return s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		fresh, err := s.allow(sqldb.Joined(ctx, s.db, tx), users, by.stored(), "released: ")
		if err != nil || fresh == 0 {
			return err
		}
		return auditChange(ctx, tx, s.clock(), change{}, change{"user:" + users[0], map[string]any{
			"verdict": string(standing.Allow), "players": len(users)}})
	})
}

// allow gives players a person's verdict that allows them.
func (s *Risk) allow(ctx context.Context, users []string, by Person, why string) (fresh int, err error) {
	reasons := standing.EncodeReasons([]standing.Reason{{Rule: "person", Sentence: why + by.Reason}})
	given := make([]standing.Verdict, len(users))
	for i, user := range users {
		given[i] = standing.Verdict{User: user, Act: standing.Allow, Reasons: reasons}
	}
	return s.Give(ctx, "operator:"+by.Name, given...)
}

// HeldState is the state of a held win.
type HeldState string

// The states of a held win.
const (
	HeldOpen      HeldState = "held"
	HeldReleased  HeldState = "released"  // the player has the money
	HeldConfirmed HeldState = "confirmed" // the sponsor has the money back
)

// Held is a win that is or was held.
type Held struct {
	Claim     string
	Campaign  string
	Packet    int
	User      string
	Amount    rain.Money
	WonAt     int64  // Unix ms
	Ticket    string // the drop or the beat of the win
	Act       standing.VerdictAct
	Score     int
	Reasons   string // JSON, see standing.EncodeReasons
	HeldAt    int64  // Unix ms
	State     HeldState
	By        string // who decided
	Decision  string // the reason
	DecidedAt int64  // Unix ms
}

var heldTable = sqldb.NewTable("held", func(h *Held) []any {
	return []any{"claim", &h.Claim, "campaign_id", &h.Campaign, "packet", &h.Packet, "user_id", &h.User,
		"amount", &h.Amount, "won_at", &h.WonAt, "drop_id", &h.Ticket, "verdict", &h.Act, "score", &h.Score,
		"reasons", &h.Reasons, "held_at", &h.HeldAt, "state", &h.State, "decided_by", &h.By,
		"decision", &h.Decision, "decided_at", &h.DecidedAt}
})

// HeldQuery selects held wins. They are listed the oldest first.
type HeldQuery struct {
	State    HeldState
	User     string // "" = all players
	Campaign string // "" = all campaigns; not with a User
	After    string // the cursor; "" begins
	Limit    int    // at least 1
}

// ListHeld lists held wins. next is "" on the last page.
func (s *Risk) ListHeld(ctx context.Context, q HeldQuery) (list []Held, next string, err error) {
	var where sqldb.Where
	where.And("state = ?", string(q.State))
	switch {
	case q.User != "":
		where.And("user_id = ?", q.User)
	case q.Campaign != "":
		where.And("campaign_id = ?", q.Campaign)
	}
	list, next, err = heldTable.ListPage(ctx, s.db, where, "held_at, claim", q.After, q.Limit)
	return list, next, sqldb.Wrap(err, "list held wins")
}

// CountHeld counts and sums the open held wins.
func (s *Risk) CountHeld(ctx context.Context) (n int64, amount rain.Money, err error) {
	_, err = s.db.First(ctx, []any{&n, &amount}, "SELECT COUNT(*), COALESCE(SUM(amount), 0) FROM held "+
		"WHERE state = 'held'")
	return n, amount, err
}
