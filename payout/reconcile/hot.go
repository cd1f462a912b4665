package reconcile

import (
	"context"
	"errors"

	"redrain/rain"
)

// Hot is what reconciliation reads of the campaigns' state in Redis. Package grab/store has it.
type Hot interface {
	// Snapshot reads each shard of a campaign, each at one moment.
	Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error)
	// EachEntry calls fn for every entry of a shard's outbox up to an id, oldest first. Of one that cannot be read it
	// has the reference only, and why. It ends with fn's error.
	EachEntry(ctx context.Context, c *rain.Campaign, shard int, upTo string,
		fn func(e rain.Entry, unreadable error) error) error
	// EachRecord calls fn for all that Redis has recorded of a shard's players, in any order. A record may come twice,
	// and one that is made meanwhile may be among them or not. It ends with fn's error.
	EachRecord(ctx context.Context, c *rain.Campaign, shard int, fn func(rain.Records) error) error
	// WinsOf reads the records of wins by their users and drops; one that is not there is zero.
	WinsOf(ctx context.Context, c *rain.Campaign, shard int, of []rain.Win) ([]rain.WinRecord, error)
	// EachBorrowed calls fn with each move that has come to a shard, and its number among those of the shard: 0 if it
	// came before the shard was restored, -1 if it cannot be read. The order is any, and one that comes meanwhile may
	// be among them or not.
	EachBorrowed(ctx context.Context, c *rain.Campaign, shard int, fn func(move string, number int64)) error
	// Newest is the id of the newest entry that a shard has ever written to its outbox, and the shard's epoch, as its
	// state says now; found is false where Redis does not know the shard.
	Newest(ctx context.Context, c *rain.Campaign, shard int) (entry string, epoch int64, found bool, err error)
}

// ErrHot is the error of a reconciliation that could not read what Redis holds. It says nothing about the books.
var ErrHot = errors.New("what Redis holds cannot be read")

// errStale says that a shard was rebuilt, or the campaign dropped, between two looks at it, so that they do not fit
// together.
var errStale = errors.New("a shard was rebuilt, or the campaign dropped, meanwhile")

// tries is how often a reconciliation begins anew because a shard was rebuilt meanwhile.
const tries = 3
