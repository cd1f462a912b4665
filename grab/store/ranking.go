package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// TopKept is how many of the players who have won most each shard keeps, and so how many Top can tell of.
const TopKept = 10

// Ranked is a player and all that they have won in a campaign.
type Ranked struct {
	User   string
	Amount rain.Money
}

// The board of a shard is in Redis because it is small there, and the same for all nodes: a player is of one shard,
// and the ledger says with each settlement what they have won in all; so a player whose total has grown is put in
// their place, and only the first ten have to be kept. Totals never fall, so nobody who was pushed out belongs there
// again without winning once more. It costs a tap nothing (the settlement does it), and doing it twice changes
// nothing. What it says is shown, and nobody is paid by it.

// Ranking is who has won most, for each campaign.
type Ranking struct{ *client }

// NewRanking makes a Ranking.
func NewRanking(s *Store) *Ranking { return &Ranking{s.client} }

// Winners are players of one shard, with all that they have won in the campaign.
type Winners struct {
	Campaign string
	Shard    int
	Totals   []Ranked
}

// Rank puts players in their places among those who have won most. It is called when something of theirs is
// settled, as often as that is heard. However many shards there are, it asks Redis twice: a batch of settlements may
// have a win of each, and the next batch waits for it.
func (r *Ranking) Rank(ctx context.Context, winners []Winners) error {
	boards := make([]board, len(winners))
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, w := range winners {
			boards[i] = r.readBoard(ctx, p, w)
		}
		return nil
	})
	if r.checked(err) != nil {
		return fmt.Errorf("reading who has won most: %w", err)
	}
	_, err = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, b := range boards {
			if b.ttl.Val() == noKey {
				continue // let go, or lost; who restores it makes the board
			}
			entering := b.entering()
			enter(ctx, p, b.keys, entering)
			// let go already: no key of the campaign may outlive the others
			if left := b.ttl.Val(); len(entering) > 0 && left > 0 {
				p.PExpire(ctx, b.keys.Top, left)
			}
		}
		return nil
	})
	if r.checked(err) != nil {
		return fmt.Errorf("ranking winners: %w", err)
	}
	return nil
}

// noKey is what PTTL answers where there is no key.
const noKey = -2

// board is what is asked of a shard to rank some of its players.
type board struct {
	keys   Keys
	totals []Ranked
	lowest *redis.ZSliceCmd   // the last of those who are kept
	ttl    *redis.DurationCmd // of the wins
}

func (r *Ranking) readBoard(ctx context.Context, p redis.Pipeliner, w Winners) board {
	k := r.keys.shard(w.Campaign, w.Shard)
	return board{
		keys: k, totals: w.Totals, lowest: p.ZRevRangeWithScores(ctx, k.Top, TopKept-1, TopKept-1),
		ttl: p.PTTL(ctx, k.Wins),
	}
}

// entering are those of the players who belong among the first.
func (b board) entering() (entering []redis.Z) {
	enough := 0.0 // what it takes to be among them: nothing while there is room
	if last := b.lowest.Val(); len(last) > 0 {
		enough = last[0].Score
	}
	for _, t := range b.totals {
		if score := float64(t.Amount); score > enough {
			entering = append(entering, redis.Z{Score: score, Member: t.User})
		}
	}
	return entering
}

// enter adds players to the board of a shard, or raises what they have there, and takes out who is not among the
// first any more. An amount is exact as a score: it is below 2^53.
func enter(ctx context.Context, p redis.Pipeliner, k Keys, players []redis.Z) {
	if len(players) == 0 {
		return
	}
	p.ZAddGT(ctx, k.Top, players...) // whoever has read an older total comes too late with it
	p.ZRemRangeByRank(ctx, k.Top, 0, -TopKept-1)
}

// Top is the at most ten players who have won most in the campaign, first the one with most.
func (r *Ranking) Top(ctx context.Context, c *rain.Campaign) ([]Ranked, error) {
	boards := make([]*redis.ZSliceCmd, Shards(c))
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range boards {
			boards[shard] = p.ZRevRangeWithScores(ctx, r.keys.shard(c.ID, shard).Top, 0, TopKept-1)
		}
		return nil
	})
	if r.checked(err) != nil {
		return nil, fmt.Errorf("reading who has won most in campaign %s: %w", c.ID, err)
	}
	var all []Ranked
	for _, board := range boards {
		for _, z := range board.Val() {
			user, _ := z.Member.(string)
			all = append(all, Ranked{User: user, Amount: rain.Money(z.Score)})
		}
	}
	slices.SortFunc(all, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount),
			cmp.Compare(a.User, b.User))
	})
	return all[:min(len(all), TopKept)], nil
}
