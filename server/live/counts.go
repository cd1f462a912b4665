package live

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"redrain/grab/outcome"
)

// Counts is what this node has counted of each campaign since it started.
type Counts struct {
	mu   sync.RWMutex
	byID map[string]*CampaignCount
}

// CampaignCount is one campaign's share.
type CampaignCount struct {
	outcomes [outcome.Count]atomic.Int64 // taps answered with a result
	took     latency

	// The reporter's own.
	last   int64 // taps at the last report
	recent latencyWindow
}

// NewCounts has counted nothing yet.
func NewCounts() *Counts { return &Counts{byID: map[string]*CampaignCount{}} }

// Of is the campaign's count, made where there was none.
func (c *Counts) Of(campaign string) *CampaignCount {
	c.mu.RLock()
	got := c.byID[campaign]
	c.mu.RUnlock()
	if got != nil {
		return got
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[campaign] == nil {
		c.byID[campaign] = &CampaignCount{}
	}
	return c.byID[campaign]
}

// campaigns are those that have been counted.
func (c *Counts) campaigns() map[string]*CampaignCount {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make(map[string]*CampaignCount, len(c.byID))
	maps.Copy(all, c.byID)
	return all
}

// forget drops what need not be reported any more.
func (c *Counts) forget(campaign string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, campaign)
}

// Tap counts an answered tap, and how long it took on this server. The time counts whatever the answer was: where a
// back end does not answer, the time is what there is to see.
func (c *CampaignCount) Tap(o outcome.Outcome, took time.Duration) {
	if o != outcome.Unavailable { // which is no result of the game: nothing was decided
		c.outcomes[o].Add(1)
	}
	c.took.add(took)
}

// taps are the taps so far, by outcome and in all.
func (c *CampaignCount) taps() (byOutcome outcome.Counts, sum int64) {
	byOutcome = make(outcome.Counts, outcome.Count)
	for _, o := range outcome.All() {
		if n := c.outcomes[o].Load(); n > 0 {
			byOutcome[o] = n
			sum += n
		}
	}
	return byOutcome, sum
}
