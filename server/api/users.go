package api

import (
	"cmp"
	"context"
	"slices"
	"unicode/utf8"

	"redrain/client/openapi"
	"redrain/grab/store"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Connections reads players' connections on all nodes. [store.Connections] implements it.
type Connections interface {
	Of(ctx context.Context, user string) ([]store.Connection, error)
}

// users lists the players whose ids have a prefix, in the order of their ids.
func (a *API) users(q *request) (any, error) {
	prefix := q.query("prefix")
	if len(prefix) > rain.MaxUserLen || !utf8.ValidString(prefix) {
		return nil, invalid("prefix", "is the beginning of a player's id")
	}
	return listed(q, func(ctx context.Context, cursor string, limit int) ([]ledger.Player, string, error) {
		if !utf8.ValidString(cursor) {
			return nil, "", ledger.ErrBadCursor
		}
		return a.o.PlayerList.ListPlayers(ctx, prefix, cursor, limit)
	}, same)
}

// bans lists the banned players, the newest first.
func (a *API) bans(q *request) (any, error) {
	return listed(q, a.o.Sanctions.Bans, func(s standing.Sanction) openapi.Banned {
		return openapi.Banned{User: s.User, Reason: s.Reason, By: s.By, At: s.At}
	})
}

// connectionsOf returns a player's connections; nil if Redis does not answer: then the answer has the other fields
// only.
func (a *API) connectionsOf(ctx context.Context, user string) []openapi.PlayerConnection {
	found, err := a.o.Connections.Of(ctx, user)
	if err != nil {
		a.o.Log.WarnContext(ctx, "read a player's connections", "err", err)
		return nil
	}
	views := make([]openapi.PlayerConnection, len(found))
	for i, c := range found {
		views[i] = openapi.PlayerConnection{Node: c.Node, Since: c.Since}
	}
	return views
}

func verdictViewOf(v standing.Verdict) openapi.RiskVerdict {
	return openapi.RiskVerdict{
		Verdict: string(v.Act), Score: v.Score, Reasons: reasonsOf(v.Reasons), By: v.By, At: v.At,
	}
}

// reasonsOf parses the reasons of a verdict. It returns none for a tampered row.
func reasonsOf(text string) []openapi.RiskReason {
	view := func(r standing.Reason) openapi.RiskReason { return openapi.RiskReason(r) }
	return listOf(standing.ParseReasons(text), "", view).Items
}

func (a *API) user(q *request) (any, error) {
	user := q.id()
	balance, err := a.o.Claims.UserBalance(q.Context(), user)
	if err != nil {
		return nil, err
	}
	given, err := a.o.Sanctions.Of(q.Context(), user)
	if err != nil {
		return nil, err
	}
	verdicts, err := a.o.Held.VerdictsOf(q.Context(), user)
	if err != nil {
		return nil, err
	}
	profiles, err := a.o.Profiles(q.Context(), []string{user})
	if err != nil {
		a.o.Log.WarnContext(q.Context(), "read a player's name", "err", err)
	}
	p := openapi.Player{User: user, Name: profiles[user].Name, Face: profiles[user].Face, Balance: balance,
		Sanctions: []openapi.Sanction{}, Verdicts: listOf(verdicts, "", verdictViewOf).Items,
		Connections: a.connectionsOf(q.Context(), user)}
	for _, s := range slices.Backward(given) { // the oldest first, so that the newest decides
		if s.Act != standing.Disconnect {
			p.Banned = s.Act == standing.Ban
		}
	}
	for _, s := range given {
		p.Sanctions = append(p.Sanctions, openapi.Sanction{Act: string(s.Act), Reason: s.Reason, By: s.By, At: s.At})
	}
	return p, nil
}

// sanction disconnects, bans or unbans a player. When it answers, the ledger has the sanction. No later win of a banned
// player is paid, not even one on a node without the ban. The player's connections to this node have ended; those to
// others end when they receive the sanction.
func (a *API) sanction(act standing.SanctionAct) handler {
	return func(q *request) (any, error) {
		reason, _, err := readReason(q, true)
		if err != nil {
			return nil, err
		}
		ctx := q.audited("user."+string(act), detail{"reason": reason})
		given, err := a.o.Sanctions.Give(ctx, q.id(), act, q.person(reason))
		if err != nil {
			return nil, err
		}
		a.o.TellSanction(q.Context(), given)
		return a.user(q)
	}
}

func (a *API) me(q *request) (any, error) {
	balance, err := a.o.Claims.UserBalance(q.Context(), q.user)
	if err != nil {
		return nil, err
	}
	payees, err := a.payees(q)
	return openapi.Balance{User: q.user, Balance: balance, Payout: &a.o.Payout, Payee: payees}, err
}

// claimsOf lists the claims of the caller, or of the player whom an operator names, newest first. The first page begins
// with those in flight to the ledger.
func (a *API) claimsOf(q *request) (any, error) {
	user := cmp.Or(q.user, q.id())
	p, err := pageOf(q)
	if err != nil {
		return nil, err
	}
	var granted []ledger.Claim
	if p.cursor == "" {
		// Before the ledger is read: a claim settled in between is then in both, and never in neither.
		if granted, err = a.grantedTo(q.Context(), user); err != nil {
			return nil, err
		}
	}
	// Only the newest: more than a page of unsettled claims is a temporary fault, and the page must have claims of the
	// ledger.
	granted = granted[:min(len(granted), p.limit-1)]
	claims, next, err := a.o.Claims.ListClaims(q.Context(), ledger.ClaimQuery{User: user, After: p.cursor,
		Limit: p.limit - len(granted)})
	if err != nil {
		return nil, err
	}
	granted = slices.DeleteFunc(granted, func(g ledger.Claim) bool {
		return slices.ContainsFunc(claims, func(c ledger.Claim) bool { return c.Claim == g.Claim })
	})
	return listOf(append(granted, claims...), next, claimView), nil
}

// recentMS is the time after a rain's end within which its wins are settled unless there is an outage.
const recentMS = 600_000

// grantedTo returns the player's wins of recent rains that the ledger does not have yet, newest first. Redis does not
// store the time of a win; until the ledger has it, the appearance of its drop or beat counts.
func (a *API) grantedTo(ctx context.Context, user string) ([]ledger.Claim, error) {
	var granted []ledger.Claim
	for _, c := range a.o.Campaigns.Live() {
		rn := c.Current()
		if rn == nil || a.o.Clock() > rn.EndsAt()+recentMS {
			continue
		}
		wins, err := a.o.Wins.PlayersWins(ctx, c, user)
		if err != nil {
			return nil, err
		}
		for _, win := range wins.Confirmed {
			ticket, _ := rain.ParseTicket(win.Drop) // the script accepts valid tickets only
			granted = append(granted, ledger.Claim{
				Claim: rain.ClaimID(c.ID, win.Packet), Campaign: c.ID, User: user, Packet: win.Packet,
				Amount: win.Amount,
				WonAt:  waveAt(c, ticket.N), Ticket: win.Drop, State: ledger.StateGranted,
			})
		}
	}
	ids := make([]string, len(granted))
	for i, claim := range granted {
		ids[i] = claim.Claim
	}
	states, err := a.o.Claims.ClaimStates(ctx, user, ids)
	if err != nil {
		return nil, err
	}
	for i := range granted {
		granted[i].State = states[granted[i].Claim]
	}
	// The ledger's list has the others.
	granted = slices.DeleteFunc(granted, func(c ledger.Claim) bool {
		return c.State != ledger.StateGranted && c.State != ledger.StateFailed
	})
	slices.SortFunc(granted, func(x, y ledger.Claim) int { return cmp.Compare(y.WonAt, x.WonAt) })
	return granted, nil
}

// waveAt returns the time of a wave of any of the campaign's rains; 0 if there is no such wave.
func waveAt(c *rain.Campaign, n int64) int64 {
	for i := range c.Rains {
		if c.Rains[i].Has(n) {
			return c.Rains[i].WaveAt(n)
		}
	}
	return 0
}
