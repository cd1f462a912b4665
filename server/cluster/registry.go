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

// Source is where campaigns are kept for good.
type Source interface {
	Campaign(ctx context.Context, id string) (*rain.Campaign, error)
	Live(ctx context.Context) ([]*rain.Campaign, error)
}

// RegistryOptions of a registry. All are needed but those that say so.
type RegistryOptions struct {
	Source Source
	Known  *Known
	// Changed are called with each newer version of a campaign, one after the other. None: nobody is told.
	Changed []func(*rain.Campaign)
	// InUse tells whether somebody on this node looks at a campaign, which is then kept. Nil: nobody does.
	InUse func(campaign string) bool
	// Forgotten is called with what is not kept any more. Nil: nobody is told.
	Forgotten func(campaign string)
	Recoverer *loop.Recoverer // nil: panics are logged only
	Log       *slog.Logger
}

// Registry keeps the campaigns that this node knows fresh from the database, and tells who must follow a change.
type Registry struct {
	*Known

	o    RegistryOptions
	load singleflight.Group

	heard     sync.Mutex
	announced map[string]int64 // campaign → the newest revision that another node has announced
	wake      loop.Wake
}

// NewRegistry makes a registry. Its Run must be started.
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

// Get finds a campaign, here or in the database; posting.ErrUnknownCampaign where there is none.
func (r *Registry) Get(ctx context.Context, id string) (*rain.Campaign, error) {
	if c := r.Cached(id); c != nil {
		return c, nil
	}
	return r.Reload(ctx, id)
}

// Reload reads a campaign from the database. Many callers at once make one query.
func (r *Registry) Reload(ctx context.Context, id string) (*rain.Campaign, error) {
	got := r.load.DoChan(id, func() (any, error) {
		// What panics in here would end the process: no caller of DoChan could catch it.
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
		return res.Val.(*rain.Campaign), nil //nolint:forcetypeassert // as the function above returns it
	}
}

// read reads a campaign. Its context is not the first caller's: the others would fail with it when it goes away.
func (r *Registry) read(ctx context.Context, id string) (*rain.Campaign, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Backend)
	defer cancel()
	c, err := r.o.Source.Campaign(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.Put(c), nil
}

// Put takes a version of a campaign, tells of it if it is newer, and returns the newest known.
func (r *Registry) Put(c *rain.Campaign) *rain.Campaign {
	newest, isNew := r.Store(c)
	if isNew {
		for _, tell := range r.o.Changed {
			tell(c)
		}
	}
	return newest
}

// Announce notes that there is a newer version of a campaign somewhere. It does not wait: Run reads the campaign.
func (r *Registry) Announce(campaign string, revision int64) {
	if c := r.Cached(campaign); c != nil && c.Revision >= revision {
		return
	}
	r.heard.Lock()
	r.announced[campaign] = max(r.announced[campaign], revision)
	r.heard.Unlock()
	r.wake.Signal()
}

// Run keeps the registry fresh until ctx ends: it reads what is announced, and from time to time everything.
func (r *Registry) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{
		Part: "campaigns", Work: "reading the campaigns; going on with those that are known", Every: RefreshEvery,
		Wake: r.wake, Do: r.refresh, Woken: r.readAnnounced, Recoverer: r.o.Recoverer, Log: r.o.Log,
	})
}

// readAnnounced reads the campaigns of which another node has announced a newer version. What fails is left to the
// next refresh.
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
		// It has been drained meanwhile; one last look brings that version. Where its row makes no sense any more, what
		// this node has of it stays, and the proof of the books raises the alarm.
		if _, err := r.Reload(ctx, c.ID); err != nil && !noSense(err) {
			return err
		}
	}
	r.forgetDrained()
	return ctx.Err()
}

// noSense tells whether there is no campaign, or none that can be believed. The database works.
func noSense(err error) bool {
	return errors.Is(err, posting.ErrUnknownCampaign) || errors.Is(err, posting.ErrUnreadableCampaign)
}

// forgetDrained keeps the memory of a node that has seen many campaigns small.
func (r *Registry) forgetDrained() {
	for _, id := range r.forget(func(c *rain.Campaign) bool { return c.Drained && !r.o.InUse(c.ID) }) {
		r.o.Forgotten(id)
	}
}
