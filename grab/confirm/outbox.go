package confirm

import (
	"context"
	"fmt"
	"reflect"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/rain"
)

// Outbox lets entries leave Redis only when they outlive their master, unless the mode is Redis. A win that is lost
// with its master was never reported, and its packet is in the stock of the new master again. If the entry had left,
// the next winner would find the packet paid to another player.
type Outbox struct {
	*store.Outbox

	c *Confirmer
}

// NewOutbox returns an Outbox.
func NewOutbox(c *Confirmer) *Outbox { return &Outbox{store.NewOutbox(c.store), c} }

// MayLeave returns nil if entries of a shard's outbox, oldest first, may leave Redis. After an error none may.
//
// It looks up the newest entry, for the same reason as outlive looks up wins. The newest stands for the older ones:
// they were written before it, on the same master. It may have been settled and removed meanwhile, because the node
// that decided it publishes it as well. Then the record of one of its wins stands for it.
func (o *Outbox) MayLeave(ctx context.Context, entries []rain.Entry) error {
	if o.c.mode == Redis || len(entries) == 0 {
		return nil
	}
	newest := entries[len(entries)-1]
	err := o.c.store.Checked(o.newestLasts(ctx, newest.Ref.Campaign, newest.Ref.Shard, newest))
	if err != nil {
		return fmt.Errorf("confirm entries of the outbox of %s.%d: %w", newest.Ref.Campaign,
			newest.Ref.Shard, err)
	}
	return nil
}

func (o *Outbox) newestLasts(ctx context.Context, campaign string, shard int, newest rain.Entry) error {
	k := o.c.store.Keys(campaign, shard)
	var found *redis.XMessageSliceCmd
	look := func(p redis.Pipeliner) { found = p.XRange(ctx, k.Outbox, newest.Ref.ID, newest.Ref.ID) }
	settled := &entry{id: newest.Ref.ID} // confirmed by the newest one's record, if it is gone from the outbox
	var err error
	if len(newest.Wins) == 0 {
		err = o.c.replicas.outlasting(ctx, k, look)
	} else {
		settled.sample = newest.Wins[0]
		err = confirmRecorded([]*entry{settled}, func(fields []string) ([]any, error) {
			var records *redis.SliceCmd
			err := o.c.replicas.outlasting(ctx, k, func(p redis.Pipeliner) {
				look(p)
				records = p.HMGet(ctx, k.Wins, fields...)
			})
			if err != nil {
				return nil, err
			}
			return records.Val(), nil
		})
	}
	if err != nil {
		return err
	}
	now := o.Readable(campaign, shard, found.Val())
	there := len(now) == 1 && reflect.DeepEqual(now[0], newest)
	gone := len(found.Val()) == 0 && settled.confirmed
	if !there && !gone {
		return ErrForgotten
	}
	return nil
}
