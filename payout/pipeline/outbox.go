package pipeline

import (
	"context"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Outbox is where wins wait until the ledger has them; confirm.Outbox is one.
type Outbox interface {
	// Page reads up to limit entries after one, the oldest first; "" begins. next is what the following page comes
	// after, "" where this is the last.
	Page(ctx context.Context, campaign string, shard int, after string, limit int) (entries []rain.Entry, next string,
		err error)
	// MayLeave returns nil when entries of one shard, the oldest first, may be published: the loss of a Redis server
	// cannot take them back.
	MayLeave(ctx context.Context, entries []rain.Entry) error
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
