package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sync/singleflight"

	"redrain/internal/loop"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/timeout"
)

// Source is the database of campaigns.
type Source interface {
	Campaign(ctx context.Context, id string) (*rain.Campaign, error)
	Live(ctx context.Context) ([]*rain.Campaign, error)
}

// RegistryOptions are the options of a Registry. All are required unless stated otherwise.
type RegistryOptions struct {
	Source Source
	Known  *Known
	// Changed are called in order with each newer version of a campaign, such as live.Schedule.Changed. May be empty.
	Changed []func(*rain.Campaign)
	// InUse reports whether a campaign has connections on this node; it is then kept. Nil: none has.
	InUse func(campaign string) bool
	// Forgotten is called with each campaign that is dropped from the cache. May be nil.
	Forgotten func(campaign string)
	Recoverer *loop.Recoverer // nil: panics are logged only
	Log       *slog.Logger
}

// Registry refreshes this node's cache of campaigns from the database, and calls the followers of a change.
type Registry struct {
	*Known

	o    RegistryOptions
	load singleflight.Group

	heard     sync.Mutex
	announced map[string]int64 // by campaign: the newest revision that another node has announced
	wake      loop.Wake
}

// NewRegistry returns a registry without campaigns. Its Run must be started.
func NewRegistry(o RegistryOptions) *Registry {
	if o.InUse == nil {
		o.InUse = func(string) bool { return false }
	}
	if o.Forgotten == nil {
		o.Forgotten = func(string) {}
	}
	return &Registry{
		Known: o.Known, o: o, announced: map[string]int64{}, wake: loop.NewWake(),
	}
}

// Get returns a campaign from the cache or the database. It returns posting.ErrUnknownCampaign if there is none.
func (r *Registry) Get(ctx context.Context, id string) (*rain.Campaign, error) {
	if c := r.Cached(id); c != nil {
		return c, nil
	}
	return r.Reload(ctx, id)
}

// Reload reads a campaign from the database. Many callers at once make one query.
func (r *Registry) Reload(ctx context.Context, id string) (*rain.Campaign, error) {
	got := r.load.DoChan(id, func() (any, error) {
		// A panic in here would end the process: no caller of DoChan could recover it.
		var c *rain.Campaign
		err := r.o.Recoverer.Try("campaigns", func() (err error) { c, err = r.read(ctx, id); return err })
		return c, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case res := <-got:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(*rain.Campaign), nil //nolint:forcetypeassert // the function above returns no other type
	}
}

// read reads a campaign. It does not use the first caller's context: the other callers would fail with it.
func (r *Registry) read(ctx context.Context, id string) (*rain.Campaign, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Backend)
	defer cancel()
	c, err := r.o.Source.Campaign(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.Put(c), nil
}

// Put caches a version of a campaign, calls the followers if it is newer, and returns the newest version.
func (r *Registry) Put(c *rain.Campaign) *rain.Campaign {
	newest, isNew := r.Store(c)
	if isNew {
		for _, tell := range r.o.Changed {
			tell(c)
		}
	}
	return newest
}

// Announce records that another node has a newer version of a campaign. It does not wait: Run reads the campaign.
func (r *Registry) Announce(campaign string, revision int64) {
	if c := r.Cached(campaign); c != nil && c.Revision >= revision {
		return
	}
	r.heard.Lock()
	r.announced[campaign] = max(r.announced[campaign], revision)
	r.heard.Unlock()
	r.wake.Signal()
}

// Run refreshes the registry until ctx ends: it reads announced campaigns at once, and all from time to time.
func (r *Registry) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{
		Part: "campaigns", Work: "read the campaigns; continuing with the cached ones", Every: RefreshEvery,
		Wake: r.wake, Do: r.refresh, Woken: r.readAnnounced, Recoverer: r.o.Recoverer, Log: r.o.Log,
	})
}

// readAnnounced reads the campaigns with an announced newer version. If a read fails, the next refresh repeats it.
func (r *Registry) readAnnounced(ctx context.Context) error {
	r.heard.Lock()
	announced := r.announced
	r.announced = map[string]int64{}
	r.heard.Unlock()
	var failed error
	for campaign, revision := range announced {
		if c := r.Cached(campaign); c != nil && c.Revision >= revision {
			continue
		}
		if _, err := r.Reload(ctx, campaign); err != nil && !noSense(err) {
			failed = errors.Join(failed, fmt.Errorf("campaign %s: %w", campaign, err))
		}
	}
	return failed
}

func (r *Registry) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	live, err := r.o.Source.Live(ctx)
	if err != nil {
		return err
	}
	found := make(map[string]bool, len(live))
	for _, c := range live {
		found[c.ID] = true
		if known := r.Cached(c.ID); ctx.Err() == nil && (known == nil || known.Revision < c.Revision) {
			r.Put(c)
		}
	}
	for _, c := range r.Live() {
		if found[c.ID] {
			continue
		}
		// It was drained meanwhile, so it is read once more. If its row is invalid, the cached version stays, and the
		// reconciliation raises the alarm.
		if _, err := r.Reload(ctx, c.ID); err != nil && !noSense(err) {
			return err
		}
	}
	r.forgetDrained()
	return ctx.Err()
}

// noSense reports whether the database has answered, and the campaign is missing or invalid.
func noSense(err error) bool {
	return errors.Is(err, posting.ErrUnknownCampaign) || errors.Is(err, posting.ErrUnreadableCampaign)
}

// forgetDrained drops drained campaigns from the cache.
func (r *Registry) forgetDrained() {
	for _, id := range r.forget(func(c *rain.Campaign) bool { return c.Drained && !r.o.InUse(c.ID) }) {
		r.o.Forgotten(id)
	}
}
