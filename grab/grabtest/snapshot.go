package grabtest

import (
	"context"

	"redrain/rain"
)

// Shard is the state of a shard in Redis, with its outbox.
type Shard struct {
	rain.ShardSnapshot
	Entries []rain.Entry
}

// Snapshot reads each shard at one moment, and then its outbox up to that moment. An entry that cannot be read is an
// error.
func (n *Node) Snapshot(ctx context.Context, c *rain.Campaign) ([]Shard, error) {
	snapshots, err := n.Sums.Snapshot(ctx, c)
	if err != nil {
		return nil, err
	}
	amounts, err := rain.NewAmounts(c)
	if err != nil {
		return nil, err
	}
	shards := make([]Shard, len(snapshots))
	for i, s := range snapshots {
		shards[i].ShardSnapshot = s
		upTo := s.LastEntry
		if !s.Found {
			upTo = "+"
		}
		err := n.EachEntry(ctx, c, i, upTo, func(e rain.Entry, unreadable error) error {
			e.FillIn(amounts)
			shards[i].Entries = append(shards[i].Entries, e)
			return unreadable
		})
		if err != nil {
			return nil, err
		}
	}
	return shards, nil
}
