package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Claims reads players' claims and balances.
type Claims struct{ db *sqldb.DB }

// ClaimState is the state of a claim.
type ClaimState string

// The states in the ledger. A claim that is not in the ledger is granted: won, and in flight.
const (
	StateGranted ClaimState = "granted"
	StateSettled ClaimState = "settled"
	StateFailed  ClaimState = "failed" // refused, and tried again
	StateDead    ClaimState = "dead"
	// StateHeld is a held claim: it waits for an operator. Players and lists get it as granted, with held set.
	StateHeld ClaimState = "held"
)

// Told returns the state for the API and players.
func (s ClaimState) Told() (state ClaimState, held bool) {
	if s == StateHeld {
		return StateGranted, true
	}
	return s, false
}

// Claim is a player's win: paid, held or dead-lettered.
type Claim struct {
	Claim    string
	Campaign string
	User     string
	Packet   int
	Amount   rain.Money
	WonAt    int64  // Unix ms
	Ticket   string // the drop or beat of the win; "" if only the dead letter has it
	State    ClaimState
	Held     bool // waits for an operator; its State is granted
}

// ClaimQuery selects claims. A campaign's claims are in the order of their packets. A player's claims, in all
// campaigns or in one, are the newest first.
type ClaimQuery struct {
	Campaign string
	User     string // "" = the whole campaign
	After    string // the cursor; "" begins
	Limit    int    // at least 1

	Only ClaimFilter // of a campaign's claims
}

// ClaimFilter selects some of a campaign's claims. The zero value selects all.
type ClaimFilter struct {
	User   string     // "" = all players
	Packet *int       // nil: all packets
	State  ClaimState // "" = all states
}

// Wants reports whether the filter selects a claim.
func (f ClaimFilter) Wants(c Claim) bool {
	return (f.User == "" || c.User == f.User) && (f.Packet == nil || c.Packet == *f.Packet) && f.wantsState(c.State)
}

func (f ClaimFilter) wantsState(s ClaimState) bool { return f.State == "" || f.State == s }

// ListClaims lists settled claims and dead letters. next is "" on the last page. If several claims are about one
// packet, they stay together, so a page may exceed its limit.
func (s *Claims) ListClaims(ctx context.Context, q ClaimQuery) (list []Claim, next string, err error) {
	if q.User != "" {
		list, next, err = s.userClaims(ctx, q)
	} else {
		list, next, err = s.campaignClaims(ctx, q)
	}
	return list, next, sqldb.Wrap(err, "list claims")
}

const (
	payoutClaim = "SELECT campaign_id, packet, claim, user_id, amount, won_at, drop_id, state FROM payout WHERE " +
		"NOT EXISTS (SELECT 1 FROM held h WHERE h.claim = payout.claim AND h.state <> 'released') AND "
	// A held win is granted until an operator has decided, and dead if the sponsor got it back.
	heldClaim = "SELECT campaign_id, packet, claim, user_id, amount, won_at, drop_id, 'held' FROM held " +
		"WHERE state = 'held' AND "
	confirmedClaim = "SELECT campaign_id, packet, claim, user_id, amount, won_at, drop_id, 'dead' FROM held " +
		"WHERE state = 'confirmed' AND "
	deadClaim = "SELECT campaign_id, packet, claim, user_id, amount, won_at, '', 'dead' FROM dead_letter " +
		"WHERE kind = 'pay' AND resolved_at = 0 AND "
)

// listedClaims has the tables with claims, and the claims' state there.
var listedClaims = []struct {
	state ClaimState
	query string
}{{StateSettled, payoutClaim}, {StateGranted, heldClaim}, {StateDead, confirmedClaim}, {StateDead, deadClaim}}

func (s *Claims) campaignClaims(ctx context.Context, q ClaimQuery) ([]Claim, string, error) {
	after := int64(-1)
	if q.After != "" {
		var err error
		if after, err = strconv.ParseInt(q.After, 10, 64); err != nil {
			return nil, "", ErrBadCursor
		}
	}
	list, more, err := q.page(func(table string) ([]Claim, error) { return s.claimsFrom(ctx, table, q, after) },
		func(a, b Claim) int { return a.Packet - b.Packet })
	if err != nil || !more {
		return list, "", err
	}
	return list, strconv.Itoa(list[len(list)-1].Packet), nil
}

// page returns the first claims of all tables, in an order, and whether more follow. It does not split equal claims.
func (q ClaimQuery) page(read func(table string) ([]Claim, error),
	order func(a, b Claim) int) (list []Claim, more bool, err error) {
	list = []Claim{}
	for _, table := range listedClaims {
		if !q.Only.wantsState(table.state) {
			continue
		}
		found, err := read(table.query)
		if err != nil {
			return nil, false, err
		}
		list = append(list, found...)
	}
	slices.SortStableFunc(list, order)
	n := min(q.Limit, len(list))
	for n > 0 && n < len(list) && order(list[n-1], list[n]) == 0 {
		n++
	}
	return list[:n], n < len(list), nil
}

// claimsFrom reads one table for a page. For a player or a packet it reads all rows. With a page's order the database
// would scan the whole campaign.
func (s *Claims) claimsFrom(ctx context.Context, table string, q ClaimQuery, after int64) ([]Claim, error) {
	if q.Only.User == "" && q.Only.Packet == nil {
		return s.readClaims(ctx, table+"campaign_id = ? AND packet > ? ORDER BY packet LIMIT ?", q.Campaign, after,
			q.Limit+1)
	}
	where, args := "campaign_id = ?", []any{q.Campaign}
	if q.Only.User != "" {
		where, args = where+" AND user_id = ?", append(args, q.Only.User)
	}
	order := " ORDER BY won_at" // the order of the index of a player's claims
	if q.Only.Packet != nil {
		where, args, order = where+" AND packet = ?", append(args, *q.Only.Packet), ""
	}
	found, err := s.readClaims(ctx, table+where+order, args...)
	return slices.DeleteFunc(found, func(c Claim) bool { return int64(c.Packet) <= after }), err
}

// RemovedAt returns the time when a campaign's payouts were removed from the ledger, Unix ms; 0 if they are here.
func (s *Claims) RemovedAt(ctx context.Context, campaign string) (at int64, err error) {
	_, err = s.db.First(ctx, []any{&at}, "SELECT removed_at FROM archive WHERE campaign_id = ?", campaign)
	return at, sqldb.Wrap(err, "read whether campaign %s was removed", campaign)
}

// ClaimsOn lists the claims on some packets of a campaign, unordered: paid and dead, of any player.
func (s *Claims) ClaimsOn(ctx context.Context, campaign string, packets []int) ([]Claim, error) {
	var all []Claim
	for _, from := range listedClaims {
		err := sqldb.EachIn(ctx, s.db, func(scan sqldb.Scan) error {
			c, err := scanClaim(scan)
			all = append(all, c)
			return err
		}, from.query+"campaign_id = ? AND packet IN", packets, campaign)
		if err != nil {
			return nil, fmt.Errorf("read the claims on packets of campaign %s: %w", campaign, err)
		}
	}
	return all, nil
}

func (s *Claims) userClaims(ctx context.Context, q ClaimQuery) ([]Claim, string, error) {
	where, args := "user_id = ? ", []any{q.User}
	if q.Campaign != "" {
		where += "AND campaign_id = ? "
		args = append(args, q.Campaign)
	}
	if q.After != "" {
		head, claim, _ := strings.Cut(q.After, "-")
		at, err := strconv.ParseInt(head, 10, 64)
		campaign, packet, err2 := rain.ParseClaimID(claim)
		if err != nil || err2 != nil {
			return nil, "", ErrBadCursor
		}
		where += "AND won_at <= ? AND (won_at < ? OR campaign_id < ? OR (campaign_id = ? AND packet < ?)) "
		args = append(args, at, at, campaign, campaign, packet)
	}
	where += "ORDER BY won_at DESC, campaign_id DESC, packet DESC LIMIT ?"
	args = append(args, q.Limit+1)
	list, more, err := q.page(func(table string) ([]Claim, error) { return s.readClaims(ctx, table+where, args...) },
		newestFirst)
	if err != nil || !more {
		return list, "", err
	}
	last := list[len(list)-1]
	return list, fmt.Sprintf("%d-%s", last.WonAt, last.Claim), nil
}

// newestFirst has the database's order of a player's claims.
func newestFirst(a, b Claim) int {
	return cmp.Or(cmp.Compare(b.WonAt, a.WonAt), cmp.Compare(b.Campaign, a.Campaign), cmp.Compare(b.Packet, a.Packet))
}

func scanClaim(scan sqldb.Scan) (c Claim, err error) {
	err = scan(&c.Campaign, &c.Packet, &c.Claim, &c.User, &c.Amount, &c.WonAt, &c.Ticket, &c.State)
	c.State, c.Held = c.State.Told()
	return c, err
}

func (s *Claims) readClaims(ctx context.Context, query string, args ...any) ([]Claim, error) {
	return sqldb.List(ctx, s.db, scanClaim, query, args...)
}

const eachPage = 1000

// EachClaim calls yield for every selected claim of a campaign, in the order of the packets. It stops at yield's
// first error. It reads page by page, so that a slow reader holds no connection. A player's claims are read at once,
// because each of their pages would read all.
func (s *Claims) EachClaim(ctx context.Context, campaign string, only ClaimFilter, yield func(Claim) error) error {
	q := ClaimQuery{Campaign: campaign, Limit: eachPage, Only: only}
	if only.User != "" {
		q.Limit = rain.MaxPackets + 1 // an upper bound for one player
	}
	for {
		list, next, err := s.ListClaims(ctx, q)
		if err != nil {
			return err
		}
		for _, c := range list {
			if err := yield(c); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		q.After = next
	}
}

// The tables with claims, in rising precedence: a failing claim may have been dead-lettered or paid meanwhile, and a
// dead one may have been paid.
var claimTables = []string{
	"SELECT campaign_id, packet, 'failed' FROM attempt_claim WHERE ",
	"SELECT campaign_id, packet, 'dead' FROM dead_letter WHERE kind = 'pay' AND (resolved_at = 0 OR reason LIKE '" +
		posting.DismissedReason + "%') AND ",
	"SELECT campaign_id, packet, state FROM payout WHERE ",
	"SELECT campaign_id, packet, CASE state WHEN 'held' THEN 'held' ELSE 'dead' END FROM held " +
		"WHERE state <> 'released' AND ",
}

// ClaimStates returns the states of a player's claims, with an element for each. Another player's claim on the same
// packet does not count. A held claim is StateHeld only in this result.
func (s *Claims) ClaimStates(ctx context.Context, user string, claims []string) (map[string]ClaimState, error) {
	states := make(map[string]ClaimState, len(claims))
	packets := map[string][]int{}
	for _, claim := range claims {
		states[claim] = StateGranted
		if campaign, packet, err := rain.ParseClaimID(claim); err == nil {
			packets[campaign] = append(packets[campaign], packet)
		}
	}
	for campaign, numbers := range packets {
		for _, table := range claimTables {
			err := sqldb.EachIn(ctx, s.db, func(scan sqldb.Scan) error {
				var c Claim
				err := scan(&c.Campaign, &c.Packet, &c.State)
				states[rain.ClaimID(c.Campaign, c.Packet)] = c.State
				return err
			}, table+"user_id = ? AND campaign_id = ? AND packet IN", numbers, user, campaign)
			if err != nil {
				return nil, fmt.Errorf("read the states of claims: %w", err)
			}
		}
	}
	return states, nil
}

// UserBalance returns a player's paid and not withdrawn money; 0 for a player without wins.
func (s *Claims) UserBalance(ctx context.Context, user string) (rain.Money, error) {
	balance, _, err := booking.BalanceOf(ctx, s.db, booking.UserAccount(user))
	return balance, err
}
