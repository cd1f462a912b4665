package confirm

import (
	"context"
	"fmt"
	"reflect"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/rain"
)

// Outbox is the outbox from which entries leave Redis only when they outlive their master, unless the mode is Redis.
// A win that is lost with its master was told to nobody, and its packet is in the stock of the master's heir again, so
// whoever wins it there would find it paid to another.
type Outbox struct {
	*store.Outbox

	c *Confirmer
}

// NewOutbox makes an Outbox.
func NewOutbox(c *Confirmer) *Outbox { return &Outbox{store.NewOutbox(c.store), c} }

// MayLeave returns nil when entries of a shard's outbox, oldest first, may leave Redis. After an error none may.
//
// The newest entry is looked up for the reason for which outlive looks at wins. It stands for the older ones: they
// were written before it, on the same master. Where it has been settled and removed meanwhile (the node that has
// decided it publishes it as well), the record of one of its wins stands for it.
func (o *Outbox) MayLeave(ctx context.Context, entries []rain.Entry) error {
	if o.c.mode == Redis || len(entries) == 0 {
		return nil
	}
	newest := entries[len(entries)-1]
	err := o.c.store.Checked(o.newestLasts(ctx, newest.Ref.Campaign, newest.Ref.Shard, newest))
	if err != nil {
		return fmt.Errorf("entries of the outbox of %s.%d stay where they are: %w", newest.Ref.Campaign,
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
