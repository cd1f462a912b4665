package confirm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/rain"
)

// Outbox lets an entry leave Redis only after every failover candidate has it, unless the mode is Redis. A win that is
// lost with its master was never reported, and its packet is in the stock of the new master again. If the entry had
// left, the next winner would find the packet paid to another player.
type Outbox struct {
	*store.Outbox

	c *Confirmer
}

// NewOutbox returns an Outbox.
func NewOutbox(c *Confirmer) *Outbox { return &Outbox{store.NewOutbox(c.store), c} }

// MayLeave returns nil if entries of a shard's outbox, oldest first, may leave Redis. After an error none may. It looks
// up the newest entry: the older ones were written before it, on the same master. If the newest was settled and removed
// meanwhile, the record of one of its wins stands for it. With mode Stream it sets the epoch of each entry.
func (o *Outbox) MayLeave(ctx context.Context, entries []rain.Entry) error {
	if o.c.mode == Redis || len(entries) == 0 {
		return nil
	}
	newest := entries[len(entries)-1]
	epoch, err := o.checkNewestReplicated(ctx, newest)
	if err := o.c.store.Checked(err); err != nil {
		return fmt.Errorf("confirm entries of the outbox of %s.%d: %w", newest.Ref.Campaign, newest.Ref.Shard, err)
	}
	for i := range entries {
		entries[i].Epoch = epoch
	}
	return nil
}

func (o *Outbox) checkNewestReplicated(ctx context.Context, newest rain.Entry) (epoch int64, err error) {
	ref := newest.Ref
	k := o.c.store.Keys(ref.Campaign, ref.Shard)
	sample := rain.WinRecord{Entry: ref.ID} // a reclaim has no win: without a user it matches no record
	if len(newest.Wins) > 0 {
		sample.Win = newest.Wins[0]
	}
	var found *redis.XMessageSliceCmd
	var record *redis.SliceCmd
	held, err := o.c.readHeld(ctx, ref.Campaign, ref.Shard, func(p redis.Pipeliner) {
		found = p.XRange(ctx, k.Outbox, ref.ID, ref.ID)
		record = p.HMGet(ctx, k.Wins, store.WinField(sample.Win))
	})
	if err != nil {
		return 0, err
	}
	now := o.Readable(ref.Campaign, ref.Shard, found.Val())
	there := len(now) == 1 && reflect.DeepEqual(now[0], newest)
	settled := slices.ContainsFunc(record.Val(), func(v any) bool { return store.IsRecord(v, sample) })
	if !there && (len(found.Val()) > 0 || !settled) {
		return 0, ErrForgotten
	}
	return held.Number, nil
}

// readHeld runs the reads of look on a shard's master, as readReplicated does. With mode Stream the master must hold
// the shard's epoch; its record is returned.
func (c *Confirmer) readHeld(ctx context.Context, campaign string, shard int, look func(redis.Pipeliner)) (
	held rain.Epoch, err error) {
	if c.mode == Stream {
		return c.epochs.under(ctx, campaign, shard, look)
	}
	_, err = c.replicas.readReplicated(ctx, c.store.Keys(campaign, shard), look)
	return held, err
}

// Moves moves stock from one shard to another. The loss of a master must not take back a step that later steps build
// on. So unless the mode is Redis, a step counts only when it outlives its master.
type Moves struct {
	*store.Moves

	c *Confirmer
}

// NewMoves returns a Moves.
func NewMoves(c *Confirmer) *Moves { return &Moves{store.NewMoves(c.store), c} }

// errStepLost means that a step of a move is not in Redis any more.
var errStepLost = errors.New("redis has forgotten a step of a move of stock; it is carried on from what is left")

// Lend is store.Moves.Lend, and waits until the step outlives its master. After an error it may have been lent all
// the same.
func (m *Moves) Lend(ctx context.Context, campaign string, from, to int, move string, count int) (*rain.Lent, error) {
	lent, err := m.Moves.Lend(ctx, campaign, from, to, move, count)
	if err != nil || lent == nil || m.c.mode == Redis {
		return lent, err
	}
	held, err := m.checkMoveReplicated(ctx, campaign, from, m.c.store.Keys(campaign, from).Lent, move)
	if err == nil && m.c.mode == Stream {
		err = m.c.epochs.lend(ctx, shardKey{campaign, from}, held, lent.Number)
	}
	if err != nil {
		return nil, fmt.Errorf("confirm stock lent by %s.%d: %w", campaign, from, err)
	}
	return lent, nil
}

// Borrow is store.Moves.Borrow, and waits until the step outlives its master. After an error it may have been
// borrowed all the same.
func (m *Moves) Borrow(ctx context.Context, campaign string, lent rain.Lent) (int64, error) {
	number, err := m.Moves.Borrow(ctx, campaign, lent)
	if err != nil || m.c.mode == Redis {
		return number, err
	}
	held, err := m.checkMoveReplicated(ctx, campaign, lent.To, m.c.store.Keys(campaign, lent.To).Borrowed, lent.Move)
	if err == nil && m.c.mode == Stream { // an old master may have borrowed
		var isHeld bool
		if isHeld, err = m.c.epochs.isHeld(ctx, shardKey{campaign, lent.To}, held); err == nil && !isHeld {
			err = errEpochEnded
		}
	}
	if err != nil {
		return 0, fmt.Errorf("confirm stock borrowed by %s.%d: %w", campaign, lent.To, err)
	}
	return number, nil
}

// checkMoveReplicated returns nil if a move's field of a hash outlives its master. With mode Stream it returns the
// record of the shard's epoch.
func (m *Moves) checkMoveReplicated(ctx context.Context, campaign string, shard int, key, move string) (held rain.Epoch,
	err error) {
	var there *redis.BoolCmd
	held, err = m.c.readHeld(ctx, campaign, shard, func(p redis.Pipeliner) { there = p.HExists(ctx, key, move) })
	if err == nil && !there.Val() {
		err = errStepLost
	}
	return held, m.c.store.Checked(err)
}
