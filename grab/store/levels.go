package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Levels are a campaign's sums over all its shards.
type Levels struct {
	Stock      int // packets that can still be won
	Won        int
	AmountLeft rain.Money // of the stock
	AmountWon  rain.Money
}

// Sums reads what a campaign has left and has given away.
type Sums struct{ *client }

// NewSums makes a Sums.
func NewSums(s *Store) *Sums { return &Sums{s.client} }

// Levels reads the campaign's sums: each shard's at one moment, the shards one after the other. What is loading or
// closed has no stock. It fails with ErrNoState where Redis knows nothing of a shard, or is still being told about
// it.
func (s *Sums) Levels(ctx context.Context, c *rain.Campaign) (Levels, error) {
	reads := make([]*redis.SliceCmd, Shards(c))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range reads {
			reads[shard] = p.HMGet(ctx, s.keys.shard(c.ID, shard).State,
				fieldStatus, fieldTotal, fieldWon, fieldLeft, fieldAmountWon)
		}
		return nil
	})
	if s.checked(err) != nil {
		return Levels{}, fmt.Errorf("reading the levels of campaign %s: %w", c.ID, err)
	}
	var sum Levels
	for shard, read := range reads {
		var s shardState
		if err := read.Scan(&s); err != nil {
			return Levels{}, fmt.Errorf("reading the levels of campaign %s, shard %d: %w", c.ID, shard, err)
		}
		switch rain.Status(s.Status) {
		case "", rebuilding:
			return Levels{}, fmt.Errorf("reading the levels of campaign %s, shard %d: %w", c.ID, shard, ErrNoState)
		case rain.Open, rain.Paused:
			sum.Stock += s.Total - s.Won
			sum.AmountLeft += s.Left
		}
		sum.Won += s.Won
		sum.AmountWon += s.AmountWon
	}
	return sum, nil
}

// shardState is what Levels reads of a shard's state.
type shardState struct {
	Status    string     `redis:"status"`
	Total     int        `redis:"total"`
	Won       int        `redis:"won"`
	Left      rain.Money `redis:"left"`
	AmountWon rain.Money `redis:"amount_won"`
}
