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

// Levels reads the campaign's sums: each shard's at one moment, the shards one after the other. What is closed has no
// stock. It fails with ErrNoState where Redis knows nothing of a shard, or is still being told about it.
func (s *Sums) Levels(ctx context.Context, c *rain.Campaign) (Levels, error) {
	states := make([]*redis.SliceCmd, Shards(c))
	stocks := make([]*redis.StringSliceCmd, Shards(c))
	moves := make([]*redis.MapStringStringCmd, Shards(c))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range states {
			k := s.keys.shard(c.ID, shard)
			states[shard] = p.HMGet(ctx, k.State, fieldStatus, fieldWon)
			stocks[shard] = p.LRange(ctx, k.Stock, 0, mostRanges)
			moves[shard] = p.HGetAll(ctx, k.Lent)
		}
		return nil
	})
	if s.checked(err) != nil {
		return Levels{}, fmt.Errorf("reading the levels of campaign %s: %w", c.ID, err)
	}
	amounts, err := s.amounts.Of(c)
	if err != nil {
		return Levels{}, err
	}
	sum := Levels{AmountWon: c.Budget}
	for shard := range states {
		if err := sum.add(c, amounts, states[shard], stocks[shard].Val(), moves[shard].Val()); err != nil {
			return Levels{}, fmt.Errorf("reading the levels of campaign %s, shard %d: %w", c.ID, shard, err)
		}
	}
	return sum, nil
}

// add adds what was read of a shard. AmountWon is what is nowhere else.
func (l *Levels) add(c *rain.Campaign, amounts *rain.Amounts, state *redis.SliceCmd, elements []string,
	moves map[string]string) error {
	var s shardState
	if err := state.Scan(&s); err != nil {
		return err
	}
	if s.Status == "" || s.Status == rebuilding {
		return ErrNoState
	}
	left, reclaimed, err := parseStock(elements, c.Packets)
	if err != nil {
		return err
	}
	lent, err := parseAllLent(moves)
	if err != nil {
		return err
	}
	for _, move := range lent {
		left = append(left, move.Numbers...) // it is as good as in the stock
	}
	l.Stock += left.Count()
	l.Won += s.Won
	l.AmountLeft += amounts.Sum(left)
	l.AmountWon -= amounts.Sum(left) + amounts.Sum(reclaimed)
	return nil
}

// shardState is what Levels reads of a shard's state.
type shardState struct {
	Status string `redis:"status"`
	Won    int    `redis:"won"`
}
