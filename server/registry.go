package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"redrain/internal/outage"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// refreshEvery is how often a node looks for campaigns that it has not been told of. It is what heals a lost message.
const refreshEvery = 2 * time.Second

// campaignSource is where campaigns are kept for good.
type campaignSource interface {
	Campaign(ctx context.Context, id string) (*rain.Campaign, error)
	Live(ctx context.Context) ([]*rain.Campaign, error)
}

// registry is the campaigns as this node knows them. What it hands out is shared and must not be changed.
type registry struct {
	source  campaignSource
	log     *slog.Logger
	inUse   func(campaign string) bool // whether a room of this node needs it
	changed []func(*rain.Campaign)     // told of each newer version; set before Run

	forgotten func(campaign string) // told of what is not kept any more

	load singleflight.Group
	mu   sync.RWMutex
	byID map[string]*rain.Campaign
}

func newRegistry(source campaignSource, log *slog.Logger) *registry {
	return &registry{source: source, log: log, byID: map[string]*rain.Campaign{}}
}

// Get finds a campaign, here or in the database; payout.ErrUnknownCampaign where there is none.
func (r *registry) Get(ctx context.Context, id string) (*rain.Campaign, error) {
	if c := r.Cached(id); c != nil {
		return c, nil
	}
	return r.Reload(ctx, id)
}

// Cached is what this node knows of a campaign without asking; nil where nothing.
func (r *registry) Cached(id string) *rain.Campaign {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byID[id]
}

// Reload reads a campaign from the database. Many callers at once make one query.
func (r *registry) Reload(ctx context.Context, id string) (*rain.Campaign, error) {
	got := r.load.DoChan(id, func() (any, error) {
		// Not the first caller's context: the others would fail with it when it goes away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backendTimeout)
		defer cancel()
		c, err := r.source.Campaign(ctx, id)
		if err != nil {
			return nil, err
		}
		return r.Put(c), nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case res := <-got:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(*rain.Campaign), nil //nolint:forcetypeassert // as the function above returns it
	}
}

// Put takes a version of a campaign and returns the newest known.
func (r *registry) Put(c *rain.Campaign) *rain.Campaign {
	r.mu.Lock()
	old := r.byID[c.ID]
	if old != nil && old.Revision >= c.Revision {
		r.mu.Unlock()
		return old
	}
	r.byID[c.ID] = c
	r.mu.Unlock()
	for _, tell := range r.changed {
		tell(c)
	}
	return c
}

// Live is every campaign that may still have something in Redis. It is payout.Lister.
func (r *registry) Live() []*rain.Campaign {
	r.mu.RLock()
	defer r.mu.RUnlock()
	live := make([]*rain.Campaign, 0, len(r.byID))
	for _, c := range r.byID {
		if !c.Drained {
			live = append(live, c)
		}
	}
	return live
}

// Run keeps the registry fresh until ctx ends.
func (r *registry) Run(ctx context.Context) error {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	database := outage.Outage{What: "reading the campaigns; going on with those that are known", Log: r.log}
	for {
		switch err := r.refresh(ctx); {
		case err == nil:
			database.Works()
		case ctx.Err() == nil:
			database.Failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (r *registry) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	live, err := r.source.Live(ctx)
	if err != nil {
		return err
	}
	found := make(map[string]bool, len(live))
	for _, c := range live {
		found[c.ID] = true
		r.Put(c)
	}
	for _, c := range r.Live() {
		if found[c.ID] {
			continue
		}
		// It has been drained meanwhile; one last look brings that version.
		if _, err := r.Reload(ctx, c.ID); err != nil && !errors.Is(err, posting.ErrUnknownCampaign) {
			return err
		}
	}
	r.forgetDrained()
	return nil
}

// forgetDrained keeps the memory of a node that has seen many campaigns small.
func (r *registry) forgetDrained() {
	r.mu.Lock()
	var gone []string
	for id, c := range r.byID {
		if c.Drained && !r.inUse(id) {
			delete(r.byID, id)
			gone = append(gone, id)
		}
	}
	r.mu.Unlock()
	for _, id := range gone {
		r.forgotten(id)
	}
}
