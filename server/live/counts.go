package live

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"redrain/grab/outcome"
)

// Counts holds this node's counts of each campaign since its start.
type Counts struct {
	mu   sync.RWMutex
	byID map[string]*CampaignCount
}

// CampaignCount holds the counts of one campaign.
type CampaignCount struct {
	outcomes [outcome.Count]atomic.Int64 // taps answered with a result
	took     latency

	// used by the reporter only
	last   int64 // taps at the last report
	recent latencyWindow
}

// NewCounts returns empty counts.
func NewCounts() *Counts { return &Counts{byID: map[string]*CampaignCount{}} }

// Of returns the campaign's counts, and creates them if they are missing.
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

// campaigns returns the counts of all campaigns.
func (c *Counts) campaigns() map[string]*CampaignCount {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make(map[string]*CampaignCount, len(c.byID))
	maps.Copy(all, c.byID)
	return all
}

// forget drops a campaign that need not be reported any more.
func (c *Counts) forget(campaign string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, campaign)
}

// Tap counts an answered tap and its time on this server. The time of a failed tap counts too: it shows a back end that
// does not answer.
func (c *CampaignCount) Tap(o outcome.Outcome, took time.Duration) {
	if o != outcome.Unavailable { // nothing was decided
		c.outcomes[o].Add(1)
	}
	c.took.add(took)
}

// taps returns the taps so far, by outcome and in all.
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
