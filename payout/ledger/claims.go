package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Claims are what players have won, and what they hold.
type Claims struct{ db *sqldb.DB }

// ClaimState is how far a claim has come.
type ClaimState string

// The states that the ledger knows. A claim that it does not know is granted: won, and on its way here.
const (
	StateGranted ClaimState = "granted"
	StateSettled ClaimState = "settled"
	StateFailed  ClaimState = "failed" // refused, and tried again
	StateDead    ClaimState = "dead"
	// StateHeld is a claim that is kept apart until a person has decided. Players and lists are told that it is
	// granted, and held.
	StateHeld ClaimState = "held"
)

// Told is a state as everybody outside is told of it.
func (s ClaimState) Told() (state ClaimState, held bool) {
	if s == StateHeld {
		return StateGranted, true
	}
	return s, false
}

// Claim is what a player has won and been paid, or what could not be paid.
type Claim struct {
	Claim    string
	Campaign string
	User     string
	Packet   int
	Amount   rain.Money
	WonAt    int64  // Unix ms
	Ticket   string // the drop or beat that won the packet; "" if only the dead letter's text names it
	State    ClaimState
	Held     bool // kept apart until a person has decided; its State is granted
}

// ClaimQuery says which claims to list: those of a campaign, in the order of their packets; or those of a player,
// newest first, in all campaigns or in one.
type ClaimQuery struct {
	Campaign string
	User     string // "" lists the whole campaign
	After    string // the cursor; "" begins
	Limit    int    // at least 1

	Only ClaimFilter // of a campaign's claims
}

// ClaimFilter says which of a campaign's claims are wanted. The zero value is all of them.
type ClaimFilter struct {
	User   string     // "": of all players
	Packet *int       // nil: all packets
	State  ClaimState // "": in all states
}

// Wants tells whether a claim is among them.
func (f ClaimFilter) Wants(c Claim) bool {
	return (f.User == "" || c.User == f.User) && (f.Packet == nil || c.Packet == *f.Packet) && f.wantsState(c.State)
}

func (f ClaimFilter) wantsState(s ClaimState) bool { return f.State == "" || f.State == s }

// ListClaims lists settled claims and dead ones. next is empty on the last page. A page may be a little longer than
// its limit: where several promises were made for one packet, they stay together.
func (s *Claims) ListClaims(ctx context.Context, q ClaimQuery) (list []Claim, next string, err error) {
	if q.User != "" {
		list, next, err = s.userClaims(ctx, q)
	} else {
		list, next, err = s.campaignClaims(ctx, q)
	}
	return list, next, sqldb.Wrap(err, "listing claims")
}

const (
	payoutClaim = "SELECT campaign_id, packet, claim, user_id, amount, won_at, drop_id, state FROM payout WHERE " +
		"NOT EXISTS (SELECT 1 FROM held h WHERE h.claim = payout.claim AND h.state <> 'released') AND "
	// A win that is kept apart is granted for as long as nobody has decided, and dead when the sponsor has it back.
	heldClaim = "SELECT campaign_id, packet, claim, user_id, amount, won_at, drop_id, 'held' FROM held " +
		"WHERE state = 'held' AND "
	confirmedClaim = "SELECT campaign_id, packet, claim, user_id, amount, won_at, drop_id, 'dead' FROM held " +
		"WHERE state = 'confirmed' AND "
	deadClaim = "SELECT campaign_id, packet, claim, user_id, amount, won_at, '', 'dead' FROM dead_letter " +
		"WHERE kind = 'pay' AND resolved_at = 0 AND "
)

// listedClaims are the tables that claims are listed from, and in which state they are there.
var listedClaims = []struct {
	state ClaimState
	query string
}{{StateSettled, payoutClaim}, {StateGranted, heldClaim}, {StateDead, confirmedClaim}, {StateDead, deadClaim}}

func (s *Claims) campaignClaims(ctx context.Context, q ClaimQuery) ([]Claim, string, error) {
	after, err := numberCursor(q.After, -1)
	if err != nil {
		return nil, "", err
	}
	list := []Claim{}
	for _, table := range listedClaims {
		if !q.Only.wantsState(table.state) {
			continue
		}
		found, err := s.claimsFrom(ctx, table.query, q, after)
		if err != nil {
			return nil, "", err
		}
		list = append(list, found...)
	}
	slices.SortStableFunc(list, func(a, b Claim) int { return a.Packet - b.Packet })
	n := pageEnd(list, q.Limit, func(a, b Claim) bool { return a.Packet == b.Packet })
	if n == len(list) {
		return list, "", nil
	}
	return list[:n], strconv.Itoa(list[n-1].Packet), nil
}

// claimsFrom reads what a page needs of one table. Of a player, or of a packet, that is all there is, since a page
// is no help in finding them: in the order of the packets the database would go through the whole campaign.
func (s *Claims) claimsFrom(ctx context.Context, table string, q ClaimQuery, after int64) ([]Claim, error) {
	if q.Only.User == "" && q.Only.Packet == nil {
		return s.readClaims(ctx, table+"campaign_id = ? AND packet > ? ORDER BY packet LIMIT ?", q.Campaign, after,
			q.Limit+1)
	}
	where, args := "campaign_id = ?", []any{q.Campaign}
	if q.Only.User != "" {
		where, args = where+" AND user_id = ?", append(args, q.Only.User)
	}
	order := " ORDER BY won_at" // as the index of a player's claims has them
	if q.Only.Packet != nil {
		where, args, order = where+" AND packet = ?", append(args, *q.Only.Packet), ""
	}
	found, err := s.readClaims(ctx, table+where+order, args...)
	return slices.DeleteFunc(found, func(c Claim) bool { return int64(c.Packet) <= after }), err
}

// DroppedAt is when a campaign's payouts were removed from the ledger, in Unix ms; 0 if they are here.
func (s *Claims) DroppedAt(ctx context.Context, campaign string) (at int64, err error) {
	_, err = s.db.First(ctx, []any{&at}, "SELECT removed_at FROM archive WHERE campaign_id = ?", campaign)
	return at, sqldb.Wrap(err, "whether campaign %s was dropped", campaign)
}

// ClaimsOn lists what the ledger knows of some packets of a campaign, in no order: paid or dead, whoever they were
// promised to.
func (s *Claims) ClaimsOn(ctx context.Context, campaign string, packets []int) ([]Claim, error) {
	var all []Claim
	for _, from := range listedClaims {
		err := sqldb.EachIn(ctx, s.db, func(scan sqldb.Scan) error {
			c, err := scanClaim(scan)
			all = append(all, c)
			return err
		}, from.query+"campaign_id = ? AND packet IN", packets, campaign)
		if err != nil {
			return nil, fmt.Errorf("claims on packets of campaign %s: %w", campaign, err)
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
		at, claim, ok := cutCursor(q.After)
		campaign, packet, err := rain.ParseClaimID(claim)
		if !ok || err != nil {
			return nil, "", ErrBadCursor
		}
		where += "AND won_at <= ? AND (won_at < ? OR campaign_id < ? OR (campaign_id = ? AND packet < ?)) "
		args = append(args, at, at, campaign, campaign, packet)
	}
	where += "ORDER BY won_at DESC, campaign_id DESC, packet DESC LIMIT ?"
	args = append(args, q.Limit+1)
	list := []Claim{}
	for _, table := range listedClaims {
		some, err := s.readClaims(ctx, table.query+where, args...)
		if err != nil {
			return nil, "", err
		}
		list = append(list, some...)
	}
	slices.SortStableFunc(list, newestFirst)
	n := pageEnd(list, q.Limit, func(a, b Claim) bool { return newestFirst(a, b) == 0 })
	if n == len(list) {
		return list, "", nil
	}
	return list[:n], joinCursor(list[n-1].WonAt, list[n-1].Claim), nil
}

// newestFirst orders a player's claims as the database does.
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

// pageEnd is how many rows of the list a page of limit takes, so that no two rows with the same place are parted.
func pageEnd(list []Claim, limit int, same func(a, b Claim) bool) int {
	if len(list) <= limit {
		return len(list)
	}
	n := limit
	for n < len(list) && same(list[n-1], list[n]) {
		n++
	}
	return n
}

// eachPage is how many claims EachClaim reads at once.
const eachPage = 1000

// EachClaim calls yield for every claim of a campaign that is wanted, in the order of the packets, and ends with
// its error. It reads page by page, so that a slow reader holds no connection; a player's at once, since each of
// their pages is found by reading all of them.
func (s *Claims) EachClaim(ctx context.Context, campaign string, only ClaimFilter, yield func(Claim) error) error {
	q := ClaimQuery{Campaign: campaign, Limit: eachPage, Only: only}
	if only.User != "" {
		q.Limit = rain.MaxPackets + 1 // no player has more
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

// The tables that know of a claim, from the one that is least to be believed: what is tried again may have been
// buried or paid meanwhile, and what is dead may have been paid.
var claimTables = []string{
	"SELECT campaign_id, packet, 'failed' FROM attempt_claim WHERE ",
	"SELECT campaign_id, packet, 'dead' FROM dead_letter WHERE kind = 'pay' AND (resolved_at = 0 OR reason LIKE '" +
		posting.DismissedReason + "%') AND ",
	"SELECT campaign_id, packet, state FROM payout WHERE ",
	"SELECT campaign_id, packet, CASE state WHEN 'held' THEN 'held' ELSE 'dead' END FROM held " +
		"WHERE state <> 'released' AND ",
}

// ClaimStates tells how far a player's claims have come. It has an element for each of them. A packet may have been
// promised to another player too: that is not this player's claim, and says nothing about it. Only here a claim that is
// kept apart is StateHeld.
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
				return nil, fmt.Errorf("states of claims: %w", err)
			}
		}
	}
	return states, nil
}

// UserBalance is what a player has been paid and not withdrawn; 0 for one who has never won.
func (s *Claims) UserBalance(ctx context.Context, user string) (rain.Money, error) {
	balance, _, err := booking.BalanceOf(ctx, s.db, booking.UserAccount(user))
	return balance, err
}

// UserBalances is UserBalance of many players. It has an element for each of them.
func (s *Claims) UserBalances(ctx context.Context, users []string) (map[string]rain.Money, error) {
	return booking.UserBalances(ctx, s.db, users)
}
