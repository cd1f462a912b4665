package cluster

import (
	"sync"

	"redrain/rain"
)

// Known caches the newest version of each campaign that this node has seen. The returned campaigns are shared and must
// not be changed. Its methods are safe for concurrent use.
type Known struct {
	mu   sync.RWMutex
	byID map[string]*rain.Campaign
}

// NewKnown returns an empty cache.
func NewKnown() *Known { return &Known{byID: map[string]*rain.Campaign{}} }

// Cached returns a campaign from the cache; nil if it is not there.
func (k *Known) Cached(id string) *rain.Campaign {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.byID[id]
}

// Live returns the campaigns that may still have data in Redis. It implements pipeline.Lister.
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

// Store caches a version of a campaign unless it is older. It returns the newest version and whether that is the given
// one.
func (k *Known) Store(c *rain.Campaign) (newest *rain.Campaign, isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.byID[c.ID]; old != nil && old.Revision >= c.Revision {
		return old, false
	}
	k.byID[c.ID] = c
	return c, true
}

// forget drops the campaigns for which may returns true, and returns their ids.
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
