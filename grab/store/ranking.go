package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// TopKept is the number of top players that each shard keeps, and so the most that Top can return.
const TopKept = 10

// Ranked is a player and the sum of their wins in a campaign.
type Ranked struct {
	User   string
	Amount rain.Money
}

// Ranking ranks the players who have won most, for each campaign, for display. A player belongs to one shard, and the
// ledger reports the sum of a player's wins with each settlement. Sums never fall, so only the first ten have to be
// kept: a player who was pushed out belongs there only after another win.
type Ranking struct{ *client }

// NewRanking returns a Ranking.
func NewRanking(s *Store) *Ranking { return &Ranking{s.client} }

// Winners are players of one shard, with the sums of their wins in the campaign.
type Winners struct {
	Campaign string
	Shard    int
	Totals   []Ranked
}

// Rank updates the boards with players. It is called for each settlement of theirs, and may be repeated. It makes two
// round trips for any number of shards.
func (r *Ranking) Rank(ctx context.Context, winners []Winners) error {
	boards := make([]board, len(winners))
	err := r.pipelined(ctx, func(p redis.Pipeliner) {
		for i, w := range winners {
			boards[i] = r.readBoard(ctx, p, w)
		}
	})
	if err != nil {
		return fmt.Errorf("read the top players: %w", err)
	}
	err = r.pipelined(ctx, func(p redis.Pipeliner) {
		for _, b := range boards {
			if b.ttl.Val() == noKey {
				continue // expired, or lost; the restorer makes the board
			}
			entering := b.entering()
			enter(ctx, p, b.keys, entering)
			// expiring already: no key of the campaign may outlive the others
			if left := b.ttl.Val(); len(entering) > 0 && left > 0 {
				p.PExpire(ctx, b.keys.Top, left)
			}
		}
	})
	return wrap(err, "rank winners")
}

// noKey is the answer of PTTL for a missing key.
const noKey = -2

// board holds the replies for ranking players of one shard.
type board struct {
	keys   Keys
	totals []Ranked
	lowest *redis.ZSliceCmd   // the last kept player
	ttl    *redis.DurationCmd // of the wins
}

func (r *Ranking) readBoard(ctx context.Context, p redis.Pipeliner, w Winners) board {
	k := r.keys.shard(w.Campaign, w.Shard)
	return board{
		keys: k, totals: w.Totals, lowest: p.ZRevRangeWithScores(ctx, k.Top, TopKept-1, TopKept-1),
		ttl: p.PTTL(ctx, k.Wins),
	}
}

// entering returns the players who belong on the board.
func (b board) entering() (entering []redis.Z) {
	enough := 0.0 // the least sum on the board: nothing while there is room
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

// enter adds players to the board of a shard, or raises their sums there, and removes players below the first ten. An
// amount is exact as a score: it is below 2^53.
func enter(ctx context.Context, p redis.Pipeliner, k Keys, players []redis.Z) {
	if len(players) == 0 {
		return
	}
	p.ZAddGT(ctx, k.Top, players...) // an older sum changes nothing
	p.ZRemRangeByRank(ctx, k.Top, 0, -TopKept-1)
}

// Top returns the at most ten players who have won most in the campaign, the first one with most.
func (r *Ranking) Top(ctx context.Context, c *rain.Campaign) ([]Ranked, error) {
	boards, err := ofShards(ctx, r.client, c, func(p redis.Pipeliner, k Keys) *redis.ZSliceCmd {
		return p.ZRevRangeWithScores(ctx, k.Top, 0, TopKept-1)
	})
	if err != nil {
		return nil, fmt.Errorf("read the top players in campaign %s: %w", c.ID, err)
	}
	var all []Ranked
	for _, board := range boards {
		for _, z := range board.Val() {
			user, _ := z.Member.(string)
			all = append(all, Ranked{User: user, Amount: rain.Money(z.Score)})
		}
	}
	slices.SortFunc(all, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.User, b.User))
	})
	return all[:min(len(all), TopKept)], nil
}
