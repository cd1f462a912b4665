package pipeline

import (
	"context"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Outbox is the shards' outboxes: a win stays there until the ledger has it. confirm.Outbox implements it.
type Outbox interface {
	// Page reads at most limit entries after an id, the oldest first; "" begins with the oldest. next is the id for
	// the following page, "" after the last page.
	Page(ctx context.Context, campaign string, shard int, after string, limit int) (entries []rain.Entry, next string,
		err error)
	// MayLeave returns nil if entries of one shard, the oldest first, may be published: the loss of a Redis server
	// can no longer remove them.
	MayLeave(ctx context.Context, entries []rain.Entry) error
	// Remove deletes entries that the ledger has. A missing entry is no error.
	Remove(ctx context.Context, refs []rain.EntryRef) error
	// Pending counts the entries of a campaign that are not removed.
	Pending(ctx context.Context, c *rain.Campaign) (int64, error)
}

// Lister lists the campaigns that may have entries in their outboxes. The result is read-only.
type Lister interface {
	Live() []*rain.Campaign
}

// Notifier notifies players of settled wins. It may get the same settlement more than once, and removes duplicates
// itself. It must not block for long. A lost notification is harmless, because the money is in the ledger.
type Notifier interface {
	Settled(ctx context.Context, settled []posting.Settlement)
}
