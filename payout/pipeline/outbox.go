package pipeline

import (
	"context"
	"time"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Outbox is where wins wait until the ledger has them; confirm.Outbox is one. An entry is lost to nobody: what was read
// and not removed can be claimed again.
type Outbox interface {
	// Read gives up to limit entries that nobody has read before. It does not wait.
	Read(ctx context.Context, campaign string, shard int, consumer string, limit int) ([]rain.Entry, error)
	// Claim gives up to limit entries that were read, or claimed, at least minIdle ago and not removed since.
	Claim(ctx context.Context, campaign string, shard int, consumer string, minIdle time.Duration,
		limit int) ([]rain.Entry, error)
	// Remove deletes entries that the ledger has. Deleting one that is gone is no error.
	Remove(ctx context.Context, refs []rain.EntryRef) error
	// Pending counts the entries of a campaign that are not removed.
	Pending(ctx context.Context, c *rain.Campaign) (int64, error)
}

// Lister knows the campaigns that may still have something in their outboxes. What it returns is not changed.
type Lister interface {
	Live() []*rain.Campaign
}

// Notifier tells players of what has been settled. It may hear of the same settlement more than once, and has to
// see for itself that a player does not. It must not block for long; what it cannot deliver is its own loss: the
// money is in the ledger.
type Notifier interface {
	Settled(ctx context.Context, settled []posting.Settlement)
}
