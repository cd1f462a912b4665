package confirm

import (
	"context"

	"redrain/rain"
)

// ErrNoReplica is for the tests outside the package.
var ErrNoReplica = errNoReplica

// Lasting tells whether entries that were read may leave Redis.
func (o *Outbox) Lasting(ctx context.Context, campaign string, shard int, entries []rain.Entry) error {
	_, err := o.lasting(ctx, campaign, shard, entries, nil)
	return err
}
