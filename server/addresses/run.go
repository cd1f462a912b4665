package addresses

import (
	"context"
	"errors"
	"slices"
	"time"

	"redrain/grab/store"
)

const (
	// part names the rounds where a panic in one is logged and counted.
	part = "addresses"
	// again is how long after Redis could not be asked it is asked again.
	again = 100 * time.Millisecond
	// within is how long a round may take.
	within = 5 * time.Second
	// atOnce is of how many addresses one call tells: Redis answers nobody else meanwhile.
	atOnce = 200
)

// Run gets more wins for the addresses that need them, and says who is here, until ctx ends.
func (c *Caps) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	retry := time.NewTimer(again)
	retry.Stop()
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.o.Guard.Do(part, func() { c.sweep(ctx) })
			continue
		case <-c.hungry:
		case <-retry.C:
		}
		c.o.Guard.Do(part, func() {
			if !c.feed(ctx) {
				retry.Reset(again)
			}
		})
	}
}

// feed asks Redis for what accounts want. It is false where that has failed for some, which are to be asked for again.
func (c *Caps) feed(ctx context.Context) (ok bool) {
	ok = true
	for campaign, accounts := range c.all((*account).isAsking) {
		if err := c.tell(ctx, campaign, accounts, (*account).wanted); err != nil {
			ok = false
			for _, a := range accounts {
				a.keepAsking()
			}
			c.o.Log.Debug("what addresses may win cannot be asked", "campaign", campaign, "err", err)
		}
	}
	return ok
}

// sweep tells Redis who is here and who has gone, what was won, and gives back what nobody uses.
func (c *Caps) sweep(ctx context.Context) {
	c.rise(ctx)
	for campaign, accounts := range c.all((*account).begun) {
		if c.o.Wins > 0 {
			word := func(a *account) store.Allotment { return a.word(len(c.guests(a)) == 0) }
			err := c.tell(ctx, campaign, accounts, word)
			if err != nil {
				c.o.Log.Debug("what addresses have won cannot be told", "campaign", campaign, "err", err)
			}
		}
		c.stay(ctx, campaign, accounts)
	}
	c.forget()
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

// stay keeps the seats of the guests who are here.
func (c *Caps) stay(ctx context.Context, campaign string, accounts []*account) {
	if c.o.Seats == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, a := range accounts {
		users := c.guests(a)
		if len(users) == 0 {
			continue
		}
		if err := c.o.Redis.Stay(ctx, campaign, a.key.address, users); err != nil {
			c.o.Log.Debug("guests' seats are not kept for now", "campaign", campaign, "err", err)
			return
		}
	}
}

// rise gives up the seats of those who have gone. What cannot be told now ends by itself.
func (c *Caps) rise(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c.mu.Lock()
	gone := c.gone
	c.gone = map[string]map[string][]string{}
	for campaign, by := range gone { // who has come back meanwhile has not gone
		for address, users := range by {
			var left []string
			for _, user := range users {
				if a := c.accounts[key{campaign, address}]; a == nil || a.here[user] == 0 {
					left = append(left, user)
				}
			}
			if by[address] = left; len(left) == 0 {
				delete(by, address)
			}
		}
	}
	c.mu.Unlock()
	for campaign, by := range gone {
		if len(by) == 0 {
			continue
		}
		if err := c.o.Redis.Rise(ctx, campaign, by); err != nil {
			c.o.Log.Debug("seats of guests who have gone end by themselves", "campaign", campaign, "err", err)
		}
	}
}

// forget drops the accounts that are needed no more: nobody is here, and nothing was won of what may still be played.
func (c *Caps) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, a := range c.accounts {
		of := c.o.Known.Cached(k.campaign)
		if over := of == nil || of.Drained; len(a.here) == 0 && (over || a.done()) {
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

// begun tells whether Redis knows of the account.
func (a *account) begun() bool { return a.ok() }

// ok tells whether Redis was asked for the account.
func (a *account) ok() bool {
	select {
	case <-a.ready:
		return a.err == nil
	default:
		return false
	}
}
