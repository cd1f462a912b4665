package campaigns

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"redrain/grab/store"
	"redrain/internal/faults"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// ErrDrained is a campaign of which nothing has to be in Redis any more.
var ErrDrained = errors.New("the campaign is closed and all of it is in the ledger; there is nothing to rebuild")

// Rebuilder tells Redis again what it has lost of campaigns, from the ledger and the stream. Where the money is
// decided the order of its steps counts: payout/ledger/posting/epoch.go says why. It may be cut off at any point and
// run again, and run on several nodes at once.
//
// A lease lets one node at a time rebuild a campaign. It is no condition of what is right, but of an end: a rebuild
// that begins takes over from the one under way, and nodes that notice a loss together, and begin anew every few
// seconds, would take over from each other for as long as a rebuild takes longer than that.
type Rebuilder struct {
	o RebuilderOptions

	mu      sync.Mutex
	running map[string]bool // the campaigns that this node rebuilds now
}

// ErrRebuilding says that the campaign is being rebuilt already.
var ErrRebuilding = errors.New("another rebuild of the campaign is under way")

const rebuildLease = 5 * time.Second

// RebuilderOptions of a rebuilder. All are needed.
type RebuilderOptions struct {
	Node

	Service   *Service
	Campaigns CampaignReader
	Ledger    RebuilderLedger
	Stream    Stream
	Outbox    LeftOver
	Wins      ToldWins
	Letters   MessageLetters
	Restorer  Restorer
}

// NewRebuilder makes a rebuilder.
func NewRebuilder(o RebuilderOptions) *Rebuilder { return &Rebuilder{o: o, running: map[string]bool{}} }

// CampaignReader reads campaigns. [ledger.Campaigns] does.
type CampaignReader interface {
	LiveCampaigns
	Campaign(ctx context.Context, id string) (*rain.Campaign, error)
}

// RebuilderLedger says what is somebody's, and keeps the epochs of a shard apart. [posting.Rebuilds] does.
type RebuilderLedger interface {
	Holding(ctx context.Context, c *rain.Campaign, shard int) (posting.Holding, error)
	EachAssigned(ctx context.Context, c *rain.Campaign, of rain.Numbers, yield func(posting.Assigned) error) error
	EachWin(ctx context.Context, c *rain.Campaign, shard int, yield func(posting.Assigned) error) error
	Top(ctx context.Context, c *rain.Campaign, shard, limit int) ([]posting.Total, error)
	Reclaimed(ctx context.Context, c *rain.Campaign, shard int) (rain.Numbers, error)
	BeginRebuild(ctx context.Context, campaign string, shard int) (attempt int64, err error)
	Fence(ctx context.Context, campaign string, shard int, attempt int64) (posting.Barrier, error)
}

// Stream is the wins on their way to the ledger. [pipeline.Settler] reads them.
type Stream interface {
	// CatchUp returns when the ledger has what the stream holds of a shard.
	CatchUp(ctx context.Context, campaign string, shard int) error
	// PostNow brings entries into the ledger that do not come through the stream.
	PostNow(ctx context.Context, entries []rain.Entry) error
}

// Restorer tells Redis again what it has lost; store.ErrAlive where it has not.
type Restorer interface {
	// Lost has those shards too that are known to be lost where it fails for others.
	Lost(ctx context.Context, c *rain.Campaign) (shards []int, err error)
	RestoreAs(ctx context.Context, c *rain.Campaign, shard int,
		what func(context.Context) (store.Restoration, error)) error
}

// Rebuilt is what a rebuild has done.
type Rebuilt struct {
	Campaign string `json:"campaign"`
	Shards   []int  `json:"shards"`  // that were lost, and are there again
	Packets  int    `json:"packets"` // in their stock
	Wins     int    `json:"wins"`    // that Redis knows again
}

// Rebuild restores every shard that Redis has lost of a campaign, and puts outbox entries aside that cannot be
// read. It fails with store.ErrAlive where none is lost, with ErrDrained or rain.ErrNotStocked where none has to be
// there, and with ErrRebuilding while somebody else does it.
func (r *Rebuilder) Rebuild(ctx context.Context, id string) (Rebuilt, error) {
	done := Rebuilt{Campaign: id, Shards: []int{}}
	if err := r.rebuildable(ctx, id); err != nil {
		return done, err
	}
	if !r.begin(id) {
		return done, ErrRebuilding
	}
	defer r.end(id)
	lease := r.o.lease("rebuild "+id, "rebuild", rebuildLease)
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

// rebuildable returns the error that says why nothing of a campaign has to be in Redis, or not yet.
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

// begin tells whether this node may begin to rebuild a campaign: it does so once at a time.
func (r *Rebuilder) begin(campaign string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[campaign] {
		return false
	}
	r.running[campaign] = true
	return true
}

func (r *Rebuilder) end(campaign string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, campaign)
}

// rebuild is Rebuild of a campaign that nobody else is known to rebuild.
func (r *Rebuilder) rebuild(ctx context.Context, id string, done *Rebuilt) error {
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
	// Also where what follows fails: nodes that knew the campaign to be sold out would else go on to say so.
	defer r.o.Bus.Restored(id)
	faults.Point("rebuild.after_restore")
	// Commands that were given meanwhile could not be applied. One that comes from here on applies itself.
	if c, err = r.o.Campaigns.Campaign(ctx, id); err != nil {
		return err
	}
	if err := r.o.Service.Enforce(ctx, c); err != nil {
		return errors.Join(failed, fmt.Errorf("%w: %w", ErrApply, err))
	}
	r.o.Log.Info("redis knows the campaign again", "campaign", id, "shards", done.Shards, "packets", done.Packets,
		"wins", done.Wins)
	return failed
}

// shards restores lost shards one after the other, and adds up in done what was restored. A shard that cannot be
// restored holds up no other.
func (r *Rebuilder) shards(ctx context.Context, c *rain.Campaign, lost []int, done *Rebuilt) (failed error) {
	for _, shard := range lost {
		packets, wins, err := r.shard(ctx, c, shard)
		switch {
		case errors.Is(err, store.ErrAlive):
			continue // another node has been faster
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

// shard restores one shard, and returns how many packets are in its stock and how many wins it knows.
func (r *Rebuilder) shard(ctx context.Context, c *rain.Campaign, shard int) (packets, wins int, err error) {
	r.o.Log.Info("redis does not know a shard; rebuilding it from the stream and the ledger", "campaign", c.ID, "shard",
		shard)
	attempt, err := r.o.Ledger.BeginRebuild(ctx, c.ID, shard)
	if err == nil {
		err = r.settleLeftOver(ctx, c, shard)
	}
	if err != nil {
		return 0, 0, err
	}
	err = r.o.Restorer.RestoreAs(ctx, c, shard, func(ctx context.Context) (store.Restoration, error) {
		// Not before: this node may have hung since it saw the loss, while the shard lived once more and was lost
		// again.
		if err := r.o.Stream.CatchUp(ctx, c.ID, shard); err != nil {
			return store.Restoration{}, err
		}
		barrier, err := r.o.Ledger.Fence(ctx, c.ID, shard, attempt)
		if err != nil {
			return store.Restoration{}, err
		}
		faults.Point("rebuild.after_fence")
		what, err := r.restoration(ctx, c, shard, &wins)
		what.Barrier, what.Epoch = barrier.Entry, barrier.Epoch
		packets = what.Stock.Count()
		return what, err
	})
	return packets, wins, err
}

// restoration reads from the ledger what a fenced shard is. Its stock is its part of the split, without what it has
// lent, with what it has borrowed, and without what is somebody's. wins counts the wins that are put.
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
		// A shard that has given back only a part of its stock is not closed any more: closing it again gives back
		// the others.
		what.Closed, what.Reclaimed = true, rest
	}
	return what, nil
}

// RebuildAll restores what is live: for a Redis that has just begun to exist, the in-process one. A campaign that
// cannot be restored does not hold up the others.
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

// rebuildSoon is Rebuild that waits for whoever rebuilds the campaign already: at a start mostly a process that was
// killed, whose lease ends soon.
func (r *Rebuilder) rebuildSoon(ctx context.Context, campaign string) error {
	for {
		_, err := r.Rebuild(ctx, campaign)
		if !errors.Is(err, ErrRebuilding) || !loop.Sleep(ctx, rebuildLease/16) {
			return err
		}
	}
}
