package server

import (
	"maps"
	"sync"
	"sync/atomic"

	"redrain/grab"
)

// counts is what this node has counted of each campaign since it started.
type counts struct {
	mu   sync.RWMutex
	byID map[string]*campaignCount
}

// campaignCount is one campaign's share.
type campaignCount struct {
	taps atomic.Int64 // answered with a result
	last int64        // taps at the last report; the reporter's own
}

func newCounts() *counts { return &counts{byID: map[string]*campaignCount{}} }

// of is the campaign's count, made where there was none.
func (c *counts) of(campaign string) *campaignCount {
	c.mu.RLock()
	got := c.byID[campaign]
	c.mu.RUnlock()
	if got != nil {
		return got
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[campaign] == nil {
		c.byID[campaign] = &campaignCount{}
	}
	return c.byID[campaign]
}

// campaigns are those that have been counted.
func (c *counts) campaigns() map[string]*campaignCount {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make(map[string]*campaignCount, len(c.byID))
	maps.Copy(all, c.byID)
	return all
}

// forget drops what need not be reported any more.
func (c *counts) forget(campaign string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, campaign)
}

// tap counts an answered tap. "unavailable" is not a result of the game: nothing was decided.
func (c *campaignCount) tap(o grab.Outcome) {
	if o != grab.Unavailable {
		c.taps.Add(1)
	}
}
