package campaigns

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/faults"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/pipeline"
	"redrain/rain"
)

// ErrDrained means that a campaign needs no data in Redis any more.
var ErrDrained = errors.New("the campaign is closed and all of it is in the ledger; there is nothing to rebuild")

// Rebuilder restores lost campaigns in Redis from the ledger and the stream. The order of its steps protects the money:
// payout/ledger/posting/epoch.go gives the reasons. It may be interrupted at any point and repeated, and run on several
// nodes at once.
//
// A lease lets one node at a time rebuild a campaign. Correctness does not need it, but progress does: a rebuild that
// begins aborts the one in flight. Nodes that notice a loss together retry every few seconds, and would abort each
// other for ever if a rebuild takes longer.
type Rebuilder struct{ o RebuilderOptions }

// ErrRebuilding means that another rebuild of the campaign is in flight.
var ErrRebuilding = errors.New("another rebuild of the campaign is in flight")

const rebuildLease = 5 * time.Second

// RebuilderOptions are the options of a Rebuilder. All are required.
type RebuilderOptions struct {
	Node

	Service   *Service
	Campaigns *ledger.Campaigns
	Ledger    RebuilderLedger
	Stream    *pipeline.Settler
	Outbox    *store.Outbox // of lost shards
	Wins      *store.Wins
	Letters   *posting.Poster // stores unreadable messages
	Restorer  Restorer
	Epochs    RebuilderEpochs
	// Check returns an error if this node's Redis is not the one of its installation. nil: it always is.
	Check func(ctx context.Context) error
}

// RebuilderEpochs lets a rebuild claim the next epoch of a shard. [confirm.Confirmer] implements it.
type RebuilderEpochs interface {
	BeginRebuild(ctx context.Context, campaign string, shard int) (confirm.Rebuild, error)
	// IsHeld reports whether no other epoch was claimed since.
	IsHeld(ctx context.Context, campaign string, shard int, of confirm.Rebuild) (bool, error)
}

// NewRebuilder returns a rebuilder.
func NewRebuilder(o RebuilderOptions) *Rebuilder { return &Rebuilder{o} }

// RebuilderLedger reads the owned packets, and separates the epochs of a shard. [posting.Rebuilds] implements it.
type RebuilderLedger interface {
	Holding(ctx context.Context, c *rain.Campaign, shard int) (posting.Holding, error)
	EachAssigned(ctx context.Context, c *rain.Campaign, of rain.Numbers, yield func(posting.Assigned) error) error
	EachWin(ctx context.Context, c *rain.Campaign, shard int, yield func(posting.Assigned) error) error
	Top(ctx context.Context, c *rain.Campaign, shard, limit int) ([]posting.Total, error)
	Reclaimed(ctx context.Context, c *rain.Campaign, shard int) (rain.Numbers, error)
	BeginRebuild(ctx context.Context, campaign string, shard int) (attempt int64, err error)
	Fence(ctx context.Context, campaign string, shard int, attempt int64) (posting.Barrier, error)
}

// Restorer restores lost shards in Redis; store.ErrAlive if a shard is not lost.
type Restorer interface {
	// Lost returns the lost shards. With an error it returns those found so far.
	Lost(ctx context.Context, c *rain.Campaign) (shards []int, err error)
	RestoreAs(ctx context.Context, c *rain.Campaign, shard int,
		what func(context.Context) (store.Restoration, error)) error
}

// Rebuilt is the result of a rebuild.
type Rebuilt struct {
	Campaign string `json:"campaign"`
	Shards   []int  `json:"shards"`  // restored shards
	Packets  int    `json:"packets"` // in their stock
	Wins     int    `json:"wins"`    // restored in Redis
}

// Rebuild restores the lost shards of a campaign, and dead-letters unreadable outbox entries. It returns store.ErrAlive
// if no shard is lost. It returns ErrDrained or rain.ErrNotStocked if none has to be in Redis, and ErrRebuilding while
// another rebuild is in flight.
func (r *Rebuilder) Rebuild(ctx context.Context, id string) (Rebuilt, error) {
	done := Rebuilt{Campaign: id, Shards: []int{}}
	if err := r.rebuildable(ctx, id); err != nil {
		return done, err
	}
	node := r.o.Node
	node.Name += " " + rand.Text() // also this node rebuilds one at a time
	lease := node.lease("rebuild "+id, "rebuild", rebuildLease)
	held := false
	var failed error
	err := lease.Under(ctx, func(work context.Context) error {
		held = true
		failed = r.rebuild(work, id, &done)
		lost := work.Err() != nil && ctx.Err() == nil
		if failed != nil && lost || errors.Is(failed, ledger.ErrLeaseTaken) {
			failed = ErrRebuilding // the lease is lost, and another node goes on
		}
		return nil
	})
	switch {
	case err != nil:
		return done, err
	case !held:
		return done, ErrRebuilding
	}
	lease.Release(ctx)
	return done, failed
}

// rebuildable returns nil, or the reason for which a campaign needs no data in Redis.
func (r *Rebuilder) rebuildable(ctx context.Context, id string) error {
	c, err := r.o.Campaigns.Campaign(ctx, id)
	switch {
	case err != nil:
		return err
	case c.Drained:
		return ErrDrained
	case c.Status == rain.Loading:
		return rain.ErrNotStocked
	}
	return nil
}

// rebuild is Rebuild under the lease of the campaign.
func (r *Rebuilder) rebuild(ctx context.Context, id string, done *Rebuilt) error {
	if r.o.Check != nil {
		if err := r.o.Check(ctx); err != nil {
			return err
		}
	}
	c, err := r.o.Campaigns.Campaign(ctx, id)
	if err != nil {
		return err
	}
	lost, failed := r.o.Restorer.Lost(ctx, c)
	failed = errors.Join(failed, r.clean(ctx, c, lost), r.shards(ctx, c, lost, done))
	switch {
	case len(done.Shards) == 0 && failed != nil:
		return failed
	case len(done.Shards) == 0:
		return store.ErrAlive
	}
	// Also after an error: nodes with a sold-out mark would keep it otherwise.
	defer r.o.Bus.Restored(id)
	faults.Point("rebuild.after_restore")
	// Commands committed meanwhile could not be applied. Later ones apply themselves.
	if c, err = r.o.Campaigns.Campaign(ctx, id); err != nil {
		return err
	}
	if err := r.o.Service.Enforce(ctx, c); err != nil {
		return errors.Join(failed, fmt.Errorf("%w: %w", ErrApply, err))
	}
	r.o.Log.InfoContext(ctx, "redis has the campaign again", "campaign", id, "shards", done.Shards, "packets",
		done.Packets, "wins", done.Wins)
	return failed
}

// shards restores lost shards one after the other, and adds them to done. A shard that cannot be restored delays no
// other.
func (r *Rebuilder) shards(ctx context.Context, c *rain.Campaign, lost []int, done *Rebuilt) (failed error) {
	for _, shard := range lost {
		packets, wins, err := r.shard(ctx, c, shard)
		if errors.Is(err, rain.ErrEpochClaimed) {
			err = fmt.Errorf("%w: %w", posting.ErrRebuildSuperseded, err)
		}
		switch {
		case errors.Is(err, store.ErrAlive):
			continue // another node was faster
		case err != nil:
			failed = errors.Join(failed, err)
			if ctx.Err() != nil {
				return failed // the lease is lost
			}
			continue
		}
		done.Shards = append(done.Shards, shard)
		done.Packets += packets
		done.Wins += wins
	}
	return failed
}

// shard restores one shard, and returns the numbers of its packets and of its wins.
func (r *Rebuilder) shard(ctx context.Context, c *rain.Campaign, shard int) (packets, wins int, err error) {
	r.o.Log.InfoContext(ctx, "redis has lost a shard; rebuilding it from the stream and the ledger", "campaign", c.ID,
		"shard", shard)
	attempt, err := r.o.Ledger.BeginRebuild(ctx, c.ID, shard)
	if err != nil {
		return 0, 0, err
	}
	epoch, err := r.o.Epochs.BeginRebuild(ctx, c.ID, shard)
	if err == nil && epoch.Claim != "" {
		// The confirmed wins come first. Redis may have given their packets to other players in its outbox.
		err = r.o.Stream.CatchUp(ctx, c.ID, shard)
	}
	if err == nil {
		err = r.settleLeftOver(ctx, c, shard, epoch.Claim != "")
	}
	if err != nil {
		return 0, 0, err
	}
	err = r.o.Restorer.RestoreAs(ctx, c, shard, func(ctx context.Context) (store.Restoration, error) {
		// Only now: this node may have hung since it saw the loss, while the shard was restored and lost again.
		if err := r.catchUp(ctx, c.ID, shard, epoch); err != nil {
			return store.Restoration{}, err
		}
		barrier, err := r.o.Ledger.Fence(ctx, c.ID, shard, attempt)
		if err != nil {
			return store.Restoration{}, err
		}
		faults.Point("rebuild.after_fence")
		what, err := r.restoration(ctx, c, shard, &wins)
		what.Barrier, what.Epoch, what.Claim = barrier.Entry, barrier.Epoch, epoch.Claim
		packets = what.Stock.Count()
		return what, err
	})
	return packets, wins, err
}

// catchUp brings the ledger up to the stream after Redis has begun a restoration. With epochs it has done so before:
// nothing was confirmed since then if the rebuild's claim still is the newest.
func (r *Rebuilder) catchUp(ctx context.Context, campaign string, shard int, epoch confirm.Rebuild) error {
	if epoch.Claim == "" {
		return r.o.Stream.CatchUp(ctx, campaign, shard)
	}
	held, err := r.o.Epochs.IsHeld(ctx, campaign, shard, epoch)
	if err == nil && !held {
		err = rain.ErrEpochClaimed
	}
	return err
}

// restoration reads a fenced shard from the ledger. Its stock is its part of the split, minus lent and owned packets,
// plus borrowed ones. wins counts the restored wins.
func (r *Rebuilder) restoration(ctx context.Context, c *rain.Campaign, shard int, wins *int) (store.Restoration,
	error) {
	*wins = 0
	holding, err := r.o.Ledger.Holding(ctx, c, shard)
	if err != nil {
		return store.Restoration{}, err
	}
	var taken rain.Numbers
	err = r.o.Ledger.EachAssigned(ctx, c, holding.Numbers, func(k posting.Assigned) error {
		taken = taken.Add(k.Win.Packet)
		return nil
	})
	if err != nil {
		return store.Restoration{}, err
	}
	what := store.Restoration{
		Borrowed: holding.Borrowed, Moves: holding.Moves,
		Wins: func(put func(rain.Win, rain.EntryRef) error) error {
			return r.o.Ledger.EachWin(ctx, c, shard, func(k posting.Assigned) error {
				*wins++
				return put(k.Win, k.Entry)
			})
		},
	}
	top, err := r.o.Ledger.Top(ctx, c, shard, store.TopKept)
	if err != nil {
		return what, err
	}
	for _, t := range top {
		what.Top = append(what.Top, store.Ranked{User: t.User, Amount: t.Amount})
	}
	back, err := r.o.Ledger.Reclaimed(ctx, c, shard)
	if err != nil {
		return what, err
	}
	rest := rain.Remaining(holding.Numbers, taken)
	if what.Stock = rain.Remaining(rest, back); len(back) > 0 && len(what.Stock) == 0 {
		// A shard that has reclaimed a part of its stock only is restored as open: the next close reclaims the rest.
		what.Closed, what.Reclaimed = true, rest
	}
	return what, nil
}

// RebuildAll restores all live campaigns, for an in-process Redis that starts without data. A campaign that cannot be
// restored does not delay the others.
func (r *Rebuilder) RebuildAll(ctx context.Context) error {
	live, err := r.o.Campaigns.Live(ctx)
	if err != nil {
		return err
	}
	for _, c := range live {
		if c.Status == rain.Loading {
			_, err = r.o.Service.Stock(ctx, c.ID)
		} else {
			err = r.rebuildSoon(ctx, c.ID)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, store.ErrAlive):
			r.o.Log.Error("a campaign could not be restored", "campaign", c.ID, "err", err)
			r.o.Bus.Alarm("state_lost", c.ID,
				"it could not be restored at start; its taps are unavailable until it is: run redrain rebuild "+c.ID)
		}
	}
	return nil
}

// rebuildSoon is Rebuild that waits for another one in flight: after a start usually that of a killed process, whose
// lease ends soon.
func (r *Rebuilder) rebuildSoon(ctx context.Context, campaign string) error {
	for {
		_, err := r.Rebuild(ctx, campaign)
		if !errors.Is(err, ErrRebuilding) || !loop.Sleep(ctx, rebuildLease/16) {
			return err
		}
	}
}
