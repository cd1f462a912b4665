package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/rain"
)

func (a *API) me(w http.ResponseWriter, r *http.Request, who caller) error {
	balance, err := a.o.Claims.UserBalance(r.Context(), who.user)
	return answer(w, openapi.Balance{User: who.user, Balance: balance, Payout: &a.o.Payout}, err)
}

func (a *API) myClaims(w http.ResponseWriter, r *http.Request, who caller) error {
	return a.claimsOf(w, r, who.user)
}

func (a *API) userClaims(w http.ResponseWriter, r *http.Request, _ caller) error {
	return a.claimsOf(w, r, r.PathValue("id"))
}

// claimsOf lists a player's claims, newest first. The first page begins with those that are won and still on their
// way to the ledger.
func (a *API) claimsOf(w http.ResponseWriter, r *http.Request, user string) error {
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	var granted []ledger.Claim
	if p.cursor == "" {
		// Before the ledger is read: what is settled in between is then in both, and not in neither.
		if granted, err = a.grantedTo(r.Context(), user); err != nil {
			return err
		}
	}
	// The newest of them; more than a page of unsettled claims is a fault that passes, and the ledger's are there
	// to come.
	granted = granted[:min(len(granted), p.limit-1)]
	claims, next, err := a.o.Claims.ListClaims(r.Context(), ledger.ClaimQuery{User: user, After: p.cursor,
		Limit: p.limit - len(granted)})
	if err != nil {
		return err
	}
	granted = slices.DeleteFunc(granted, func(g ledger.Claim) bool {
		return slices.ContainsFunc(claims, func(c ledger.Claim) bool { return c.Claim == g.Claim })
	})
	return answer(w, listOf(append(granted, claims...), next, claimViewOf), nil)
}

// recentMS is how long after its end a rain's wins may still be on their way, where nothing is broken.
const recentMS = 600_000

// grantedTo are the player's wins of recent rains that the ledger does not have yet, newest first. Redis does not
// keep when a packet was won; until the ledger has it, it counts as won when its drop or its beat appeared.
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
			ticket, _ := rain.ParseTicket(win.Drop) // the script wins only with tickets that there are
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
	// The others are in the ledger's list.
	granted = slices.DeleteFunc(granted, func(c ledger.Claim) bool {
		return c.State != ledger.StateGranted &&
			c.State != ledger.StateFailed
	})
	slices.SortFunc(granted, func(x, y ledger.Claim) int { return cmp.Compare(y.WonAt, x.WonAt) })
	return granted, nil
}

// waveAt is when a wave of any of the campaign's rains appeared; 0 for one that there is not.
func waveAt(c *rain.Campaign, n int64) int64 {
	for i := range c.Rains {
		if c.Rains[i].Has(n) {
			return c.Rains[i].WaveAt(n)
		}
	}
	return 0
}

func tooMany(w http.ResponseWriter, after time.Duration, detail string) error {
	w.Header().Set("Retry-After", retryAfter(after))
	return refuse(http.StatusTooManyRequests, "too_many_requests", detail)
}

// retryAfter is a duration as the Retry-After header has it: whole seconds, at least one.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(max(1, int((d+time.Second-1)/time.Second)))
}
