package grab

import (
	"cmp"
	"context"
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

// The board of a shard is in Redis because it is small there and always right: a player is of one shard, whose wins hash has all that
// they have won; so a player whose total has changed is put in their place with the whole total, and only the first ten
// have to be kept. Totals never fall, so nobody who was pushed out belongs there again without winning once more. It
// costs a tap nothing (the settlement does it), needs no sum over the ledger's rows, is the same for all nodes, and doing it
// twice changes nothing. A node that starts finds it there; a shard that is restored gets it from the wins (rankAll).

// Rank puts players of one shard in their places among those who have won most. It is called when something of theirs is settled, as
// often as that is heard. Totals count all their wins, also those that are on their way to the ledger.
func (g *Grabber) Rank(ctx context.Context, campaign string, shard int, users []string) error {
	if len(users) == 0 {
		return nil
	}
	k := g.keys.shard(campaign, shard)
	var texts *redis.SliceCmd
	var lowest *redis.ZSliceCmd
	var ttl *redis.DurationCmd
	_, err := g.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		texts = p.HMGet(ctx, k.wins, users...)
		lowest = p.ZRevRangeWithScores(ctx, k.top, topKept-1, topKept-1)
		ttl = p.PTTL(ctx, k.wins)
		return nil
	})
	if g.seen(err) != nil {
		return fmt.Errorf("ranking the winners of %s.%d: %w", campaign, shard, err)
	}
	enough := 0.0 // what it takes to be among them: nothing while there is room
	if last := lowest.Val(); len(last) > 0 {
		enough = last[0].Score
	}
	var entering []redis.Z
	for i, text := range texts.Val() {
		record, _ := text.(string) // nil where the campaign has been let go, and for who has no win
		total, err := totalOf(users[i], record)
		if err != nil {
			return err
		}
		if score := float64(total); score > enough {
			entering = append(entering, redis.Z{Score: score, Member: users[i]})
		}
	}
	if err := g.enter(ctx, k, entering); err != nil {
		return fmt.Errorf("ranking the winners of %s.%d: %w", campaign, shard, err)
	}
	if left := ttl.Val(); len(entering) > 0 && left > 0 { // let go already: no key of the campaign may outlive the others
		return g.seen(g.rdb.PExpire(ctx, k.top, left).Err())
	}
	return nil
}

// enter adds players to the board of a shard, or raises what they have there, and takes out who is not among the first any more. An
// amount is exact as a score: it is below 2^53.
func (g *Grabber) enter(ctx context.Context, k shardKeys, players []redis.Z) error {
	if len(players) == 0 {
		return nil
	}
	_, err := g.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAddGT(ctx, k.top, players...) // whoever has read an older total comes too late with it
		p.ZRemRangeByRank(ctx, k.top, 0, -topKept-1)
		return nil
	})
	return g.seen(err)
}

// totalOf is the sum of a player's wins as the wins hash keeps them.
func totalOf(user, text string) (rain.Money, error) {
	records, err := parseRecords(user, text)
	if err != nil {
		return 0, err
	}
	var total rain.Money
	for _, r := range records {
		total += r.win.Amount
	}
	return total, nil
}

// Top is the at most ten players who have won most in the campaign, first the one with most.
func (g *Grabber) Top(ctx context.Context, c *rain.Campaign) ([]Ranked, error) {
	boards := make([]*redis.ZSliceCmd, shardsOf(c))
	_, err := g.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range boards {
			boards[shard] = p.ZRevRangeWithScores(ctx, g.keys.shard(c.ID, shard).top, 0, topKept-1)
		}
		return nil
	})
	if g.seen(err) != nil {
		return nil, fmt.Errorf("reading who has won most in campaign %s: %w", c.ID, err)
	}
	var all []Ranked
	for _, board := range boards {
		for _, z := range board.Val() {
			user, _ := z.Member.(string)
			all = append(all, Ranked{User: user, Amount: rain.Money(z.Score)})
		}
	}
	slices.SortFunc(all, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.User, b.User)) })
	return all[:min(len(all), topKept)], nil
}

// rankAll makes the board of a shard anew from all wins that Redis knows. What was there may be of wins that are void.
func (g *Grabber) rankAll(ctx context.Context, c *rain.Campaign, shard int) error {
	k := g.keys.shard(c.ID, shard)
	// Removed first: who is ranked from here on stays, and who was before is found among the wins.
	if err := g.seen(g.rdb.Unlink(ctx, k.top).Err()); err != nil {
		return err
	}
	var page []redis.Z
	err := g.eachPlayer(ctx, c, shard, func(user string, records []record) error {
		var total rain.Money
		for _, r := range records {
			total += r.win.Amount
		}
		page = append(page, redis.Z{Score: float64(total), Member: user})
		if len(page) < scanned {
			return nil
		}
		err := g.enter(ctx, k, page)
		page = page[:0]
		return err
	})
	if err != nil {
		return err
	}
	return g.enter(ctx, k, page)
}
