package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// topKept is how many of the players who have won most each shard keeps, and so how many Top can tell of.
const topKept = 10

// Ranked is a player and all that they have won in a campaign.
type Ranked struct {
	User   string
	Amount rain.Money
}

// The board of a shard is in Redis because it is small there and always right: a player is of one shard, whose wins
// hash has all that they have won; so a player whose total has changed is put in their place with the whole total,
// and only the first ten have to be kept. Totals never fall, so nobody who was pushed out belongs there again
// without winning once more. It costs a tap nothing (the settlement does it), needs no sum over the ledger's rows,
// is the same for all nodes, and doing it twice changes nothing. A node that starts finds it there; a shard that is
// restored gets it from the wins (rankAll).

// Ranking is who has won most, for each campaign.
type Ranking struct{ *client }

// NewRanking makes a Ranking.
func NewRanking(s *Store) *Ranking { return &Ranking{s.client} }

// Winners are players of one shard.
type Winners struct {
	Campaign string
	Shard    int
	Users    []string
}

// Rank puts players in their places among those who have won most. It is called when something of theirs is
// settled, as often as that is heard. Totals count all their wins, also those that are on their way to the ledger.
// However many shards there are, it asks Redis twice: a batch of settlements may have a win of each, and the next
// batch waits for it.
func (r *Ranking) Rank(ctx context.Context, winners []Winners) error {
	boards := make([]board, len(winners))
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, w := range winners {
			boards[i] = r.readBoard(ctx, p, w)
		}
		return nil
	})
	if r.checked(err) != nil {
		return fmt.Errorf("reading the totals of winners: %w", err)
	}
	var unread error // whose wins cannot be read keeps nobody else from their place
	_, err = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, b := range boards {
			entering, err := b.entering()
			unread = errors.Join(unread, err)
			enter(ctx, p, b.keys, entering)
			// let go already: no key of the campaign may outlive the others
			if left := b.ttl.Val(); len(entering) > 0 && left > 0 {
				p.PExpire(ctx, b.keys.Top, left)
			}
		}
		return nil
	})
	if err = errors.Join(unread, r.checked(err)); err != nil {
		return fmt.Errorf("ranking winners: %w", err)
	}
	return nil
}

// board is what is asked of a shard to rank some of its players.
type board struct {
	keys   Keys
	users  []string
	texts  *redis.SliceCmd    // what they have won
	lowest *redis.ZSliceCmd   // the last of those who are kept
	ttl    *redis.DurationCmd // of the wins
}

func (r *Ranking) readBoard(ctx context.Context, p redis.Pipeliner, w Winners) board {
	k := r.keys.shard(w.Campaign, w.Shard)
	return board{
		keys: k, users: w.Users,
		texts: p.HMGet(ctx, k.Wins, w.Users...), lowest: p.ZRevRangeWithScores(ctx, k.Top, topKept-1, topKept-1),
		ttl: p.PTTL(ctx, k.Wins),
	}
}

// entering are those of the players who belong among the first.
func (b board) entering() (entering []redis.Z, unread error) {
	enough := 0.0 // what it takes to be among them: nothing while there is room
	if last := b.lowest.Val(); len(last) > 0 {
		enough = last[0].Score
	}
	for i, text := range b.texts.Val() {
		record, _ := text.(string) // nil where the campaign has been let go, and for who has no win
		total, err := totalOf(b.users[i], record)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		if score := float64(total); score > enough {
			entering = append(entering, redis.Z{Score: score, Member: b.users[i]})
		}
	}
	return entering, unread
}

// enter adds players to the board of a shard, or raises what they have there, and takes out who is not among the
// first any more. An amount is exact as a score: it is below 2^53.
func enter(ctx context.Context, p redis.Pipeliner, k Keys, players []redis.Z) {
	if len(players) == 0 {
		return
	}
	p.ZAddGT(ctx, k.Top, players...) // whoever has read an older total comes too late with it
	p.ZRemRangeByRank(ctx, k.Top, 0, -topKept-1)
}

// totalOf is the amount of a player's wins, given their field of the wins hash.
func totalOf(user, text string) (rain.Money, error) {
	h, err := parseHolding(user, text)
	return h.total(), err
}

// Top is the at most ten players who have won most in the campaign, first the one with most.
func (r *Ranking) Top(ctx context.Context, c *rain.Campaign) ([]Ranked, error) {
	boards := make([]*redis.ZSliceCmd, Shards(c))
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range boards {
			boards[shard] = p.ZRevRangeWithScores(ctx, r.keys.shard(c.ID, shard).Top, 0, topKept-1)
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
	return all[:min(len(all), topKept)], nil
}

// rankAll makes the board of a shard anew from all wins that Redis knows. What was there may be of wins that are void.
func (r *Ranking) rankAll(ctx context.Context, c *rain.Campaign, shard int) error {
	k := r.keys.shard(c.ID, shard)
	// Removed first: who is ranked from here on stays, and who was before is found among the wins.
	if err := r.checked(r.rdb.Unlink(ctx, k.Top).Err()); err != nil {
		return err
	}
	var page []redis.Z
	err := (&Wins{r.client}).eachPlayer(ctx, c, shard, func(user string, records []Record) error {
		page = append(page, redis.Z{Score: float64(amountOf(records)), Member: user})
		if len(page) < scanned {
			return nil
		}
		err := r.enterNow(ctx, k, page)
		page = page[:0]
		return err
	})
	if err != nil {
		return err
	}
	return r.enterNow(ctx, k, page)
}

func (r *Ranking) enterNow(ctx context.Context, k Keys, players []redis.Z) error {
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		enter(ctx, p, k, players)
		return nil
	})
	return r.checked(err)
}
