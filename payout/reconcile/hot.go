package reconcile

import (
	"context"
	"errors"

	"redrain/rain"
)

// Hot reads the campaigns' state in Redis. Package grab/store implements it.
type Hot interface {
	// Snapshot reads each shard of a campaign, each at one moment.
	Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error)
	// EachEntry calls fn for every entry of a shard's outbox up to an id, the oldest first. An unreadable entry has
	// only its reference and the reason. It stops at fn's first error.
	EachEntry(ctx context.Context, c *rain.Campaign, shard int, upTo string,
		fn func(e rain.Entry, unreadable error) error) error
	// EachRecord calls fn for all records of a shard's players in Redis, unordered. A record may come twice, and a
	// new one may be missing. It stops at fn's first error.
	EachRecord(ctx context.Context, c *rain.Campaign, shard int, fn func(rain.Records) error) error
	// WinsOf reads the records of wins by their users and drops. A missing one is zero.
	WinsOf(ctx context.Context, c *rain.Campaign, shard int, of []rain.Win) ([]rain.WinRecord, error)
	// EachBorrowed calls fn with each move that has come to a shard, and its number among the shard's moves,
	// unordered. The number is 0 if the move came before the shard was restored, and -1 if it is invalid. A move that
	// comes meanwhile may be missing.
	EachBorrowed(ctx context.Context, c *rain.Campaign, shard int, fn func(move string, number int64)) error
	// Newest returns the id of the newest entry that a shard has ever written to its outbox, and the shard's epoch.
	// found is false if Redis does not have the shard.
	Newest(ctx context.Context, c *rain.Campaign, shard int) (entry string, epoch int64, found bool, err error)
}

// ErrHot is the error of a reconciliation that could not read Redis. It says nothing about the books.
var ErrHot = errors.New("the campaign's state in Redis cannot be read")

// errStale means that a shard was rebuilt, or the campaign dropped, between two reads, so that they do not match.
var errStale = errors.New("a shard was rebuilt, or the campaign dropped, meanwhile")

// tries is the number of attempts of a reconciliation if shards are rebuilt meanwhile.
const tries = 3
