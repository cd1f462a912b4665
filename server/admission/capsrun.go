package admission

import (
	"context"
	"errors"
	"slices"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/server/presence"
)

// capsPart names the loops in metrics, alarms and the log.
const capsPart = "addresses"

// Run gets more wins for the addresses that need them, and writes who is here, until ctx ends.
func (c *Caps) Run(ctx context.Context) error {
	return c.guests.Run(ctx, loop.Spec{Part: capsPart, Work: "asking what addresses may win", Every: sweepEvery,
		Wake: c.hungry, Retry: retry, RetryMost: retryMost, Do: c.sweep, Woken: c.feed,
		Recoverer: c.o.Recoverer, Log: c.o.Log})
}

// feed asks Redis for what accounts want. After an error they ask again.
func (c *Caps) feed(ctx context.Context) (failed error) {
	for campaign, accounts := range c.all((*account).isAsking) {
		if err := c.tell(ctx, campaign, accounts, (*account).wanted); err != nil {
			failed = errors.Join(failed, err)
			for _, a := range accounts {
				a.keepAsking()
			}
		}
	}
	return failed
}

// sweep writes what was won, gives back what is not used, feeds accounts and forgets those that are over.
func (c *Caps) sweep(ctx context.Context) (failed error) {
	if c.o.Wins > 0 {
		word := func(a *account) store.Allotment { return a.word(c.guests.Count(a.key) == 0) }
		for campaign, accounts := range c.all((*account).ok) {
			failed = errors.Join(failed, c.tell(ctx, campaign, accounts, word))
		}
	}
	failed = errors.Join(failed, c.feed(ctx))
	c.forget()
	return failed
}

// tell tells Redis one word of each account, and the accounts its answers.
func (c *Caps) tell(ctx context.Context, campaign string, all []*account, word func(*account) store.Allotment) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var failed error
	for accounts := range slices.Chunk(all, atOnce) {
		words := make([]store.Allotment, len(accounts))
		for i, a := range accounts {
			words[i] = word(a)
		}
		err := c.o.Redis.Allot(ctx, campaign, c.o.Node, accounts[0].most, words)
		for i, a := range accounts {
			a.got(words[i], err)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// writeSeats keeps and gives up guests' seats.
func (c *Caps) writeSeats(ctx context.Context, changes []presence.Change[capKey, string]) (failed error) {
	if c.o.Seats == 0 {
		return nil
	}
	here, gone := map[capKey][]string{}, map[string]map[string][]string{}
	for _, change := range changes {
		k := change.Group
		if change.State == presence.Here {
			here[k] = append(here[k], change.Member)
			continue
		}
		if gone[k.campaign] == nil {
			gone[k.campaign] = map[string][]string{}
		}
		gone[k.campaign][k.address] = append(gone[k.campaign][k.address], change.Member)
	}
	for campaign, by := range gone {
		failed = errors.Join(failed, c.o.Redis.Rise(ctx, campaign, by))
	}
	isAway := map[string]bool{} // campaigns whose Redis is away: the others' may answer
	for k, users := range here {
		if isAway[k.campaign] {
			continue
		}
		err := c.o.Redis.Stay(ctx, k.campaign, k.address, users)
		isAway[k.campaign] = err != nil
		failed = errors.Join(failed, err)
	}
	return failed
}

// forget drops the accounts that are needed no more: nobody is here, and nothing was won of what may still be played.
func (c *Caps) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, a := range c.accounts {
		of := c.o.Known.Cached(k.campaign)
		if over := of == nil || of.Drained; c.guests.Count(k) == 0 && (over || a.done()) {
			delete(c.accounts, k)
		}
	}
	c.metrics.known.Set(float64(len(c.accounts)))
}

func (a *account) isAsking() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asking && a.ok()
}

func (a *account) keepAsking() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking = true
}

// ok tells whether Redis was asked for the account.
func (a *account) ok() bool {
	select {
	case <-a.ready:
		return a.err == nil
	default:
		return false
	}
}
