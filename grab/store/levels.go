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
	var sum Levels
	var left, reclaimed rain.Numbers
	for shard := range states {
		one, err := parseLevel(c, states[shard], stocks[shard].Val(), moves[shard].Val())
		if err != nil {
			return Levels{}, fmt.Errorf("reading the levels of campaign %s, shard %d: %w", c.ID, shard, err)
		}
		sum.Won += one.won
		left, reclaimed = append(left, one.left...), append(reclaimed, one.reclaimed...)
	}
	left = rain.Remaining(left, nil) // what is lent may have come to its shard already
	sum.Stock, sum.AmountLeft = left.Count(), amounts.Sum(left)
	sum.AmountWon = c.Budget - sum.AmountLeft - amounts.Sum(reclaimed)
	return sum, nil
}

// Level is what one shard has.
type Level struct {
	Known bool   // false where Redis knows nothing of the shard, or not enough
	Left  int    // packets in its stock
	Won   int    // so far
	Entry string // the newest of its outbox ever
	Moves int64  // from and to it, so far
	Lent  []rain.Lent
	Torn  []string // moves whose records no script has written
}

// Behind tells whether a shard knows less than an outbox entry and a number of moves that there were.
func (l Level) Behind(entry string, moves int64) bool {
	ms, seq, err1 := rain.EntryRef{ID: l.Entry}.Position()
	thenMS, thenSeq, err2 := rain.EntryRef{ID: entry}.Position()
	return err1 != nil || err2 == nil && (ms < thenMS || ms == thenMS && seq < thenSeq) || l.Moves < moves
}

// Shards reads what each shard of a campaign has, one after the other. What no script has written of one hides nothing of
// the others.
func (s *Sums) Shards(ctx context.Context, c *rain.Campaign) ([]Level, error) {
	states := make([]*redis.SliceCmd, Shards(c))
	moves := make([]*redis.MapStringStringCmd, Shards(c))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range states {
			k := s.keys.shard(c.ID, shard)
			moves[shard] = p.HGetAll(ctx, k.Lent) // first: then the state knows of each move that is lent
			states[shard] = p.HMGet(ctx, k.State, fieldRevision, fieldLeft, fieldWon, fieldLast, fieldMoves)
		}
		return nil
	})
	if s.checked(err) != nil {
		return nil, fmt.Errorf("reading the shards of campaign %s: %w", c.ID, err)
	}
	all := make([]Level, len(states))
	for shard := range states {
		var known struct {
			Revision string `redis:"rev"`
			Left     int    `redis:"left"`
			Won      int    `redis:"won"`
			Last     string `redis:"last"`
			Moves    int64  `redis:"moves"`
		}
		if states[shard].Scan(&known) != nil {
			continue // somebody has written to it: it neither lends nor borrows, and the reconciliation names it
		}
		l := Level{Known: known.Revision != "", Left: known.Left, Won: known.Won, Entry: known.Last, Moves: known.Moves}
		if l.Known {
			l.Lent, l.Torn = parseAllLent(moves[shard].Val())
		}
		all[shard] = l
	}
	return all, nil
}

// level is what Levels reads of a shard.
type level struct {
	won             int
	left, reclaimed rain.Numbers
}

func parseLevel(c *rain.Campaign, state *redis.SliceCmd, elements []string, moves map[string]string) (l level,
	err error) {
	var s shardState
	if err := state.Scan(&s); err != nil {
		return l, err
	}
	if s.Status == "" || s.Status == rebuilding {
		return l, ErrNoState
	}
	l.won = s.Won
	if l.left, l.reclaimed, err = parseStock(elements, c.Packets); err != nil {
		return l, err
	}
	lent, _ := parseAllLent(moves)
	for _, move := range lent {
		l.left = append(l.left, move.Numbers...)
	}
	return l, nil
}

// shardState is what Levels reads of a shard's state.
type shardState struct {
	Status string `redis:"status"`
	Won    int    `redis:"won"`
}
