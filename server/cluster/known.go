package cluster

import (
	"sync"

	"redrain/rain"
)

// Known is the newest version of each campaign that this node has seen. What it hands out is shared and must not be
// changed.
type Known struct {
	mu   sync.RWMutex
	byID map[string]*rain.Campaign
}

// NewKnown knows no campaign yet.
func NewKnown() *Known { return &Known{byID: map[string]*rain.Campaign{}} }

// Cached is what this node knows of a campaign without asking; nil where nothing.
func (k *Known) Cached(id string) *rain.Campaign {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.byID[id]
}

// Live is every campaign that may still have something in Redis. It is a pipeline.Lister.
func (k *Known) Live() []*rain.Campaign {
	k.mu.RLock()
	defer k.mu.RUnlock()
	live := make([]*rain.Campaign, 0, len(k.byID))
	for _, c := range k.byID {
		if !c.Drained {
			live = append(live, c)
		}
	}
	return live
}

// Store takes a version of a campaign, and returns the newest known and whether that is the one given.
func (k *Known) Store(c *rain.Campaign) (newest *rain.Campaign, isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.byID[c.ID]; old != nil && old.Revision >= c.Revision {
		return old, false
	}
	k.byID[c.ID] = c
	return c, true
}

// forget drops the campaigns that may go, and returns their ids.
func (k *Known) forget(may func(*rain.Campaign) bool) (gone []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, c := range k.byID {
		if may(c) {
			delete(k.byID, id)
			gone = append(gone, id)
		}
	}
	return gone
}
