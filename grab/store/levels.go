package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Levels are a campaign's sums over all its shards.
//
// The wins of an unknown shard are unknown. Its original part of the split counts as left, so that a campaign is not
// sold out while it may have stock. Won counts the other shards.
type Levels struct {
	Stock      int                 // packets that can still be won
	ByLane     [rain.LaneCount]int // of the stock
	Won        int
	WonByLane  [rain.LaneCount]int
	AmountLeft rain.Money // of the stock
	AmountWon  rain.Money
	Unknown    int // shards whose master does not answer, or has no state of them
}

// Sums reads a campaign's stock and won packets.
type Sums struct{ *client }

// NewSums returns a Sums.
func NewSums(s *Store) *Sums { return &Sums{s.client} }

// Levels reads the campaign's sums. It reads all masters at once. A closed shard has no stock. Shards that cannot be
// read by the end of ctx are unknown. If all are unknown it fails: with ErrNoState if Redis has no state of them, or
// they are being restored.
func (s *Sums) Levels(ctx context.Context, c *rain.Campaign) (Levels, error) {
	amounts, err := s.amounts.Of(c)
	if err != nil {
		return Levels{}, err
	}
	var sum Levels
	var left, reclaimed rain.Numbers
	all := s.read(ctx, c, true)
	for shard, one := range all {
		if one.invalid != nil {
			return Levels{}, fmt.Errorf("read shard %d of campaign %s: %w", shard, c.ID, one.invalid)
		}
		if !one.Known {
			sum.Unknown++
			left = append(left, c.Layout().Stock(shard)...)
			continue
		}
		sum.Won += one.Won
		sum.WonByLane[c.Layout().LaneOfShard(shard)] += one.Won
		left, reclaimed = append(left, one.stock...), append(reclaimed, one.returned...)
		for _, move := range one.Lent {
			left = append(left, move.Numbers...)
		}
	}
	if sum.Unknown == len(all) {
		return Levels{}, cmp.Or(all[0].Err, fmt.Errorf("read the levels of campaign %s: %w", c.ID, ErrNoState))
	}
	left = rain.Remaining(left, reclaimed) // lent stock may have arrived at its shard already
	sum.Stock, sum.ByLane, sum.AmountLeft = left.Count(), c.Layout().ByLane(left), amounts.Sum(left)
	sum.AmountWon = c.Budget - sum.AmountLeft - amounts.Sum(reclaimed)
	return sum, nil
}

// Level holds the sums of one shard.
type Level struct {
	Known bool   // false if Redis has no, incomplete or tampered state of the shard, or does not answer
	Err   error  // why it could not be read
	Left  int    // packets in its stock
	Won   int    // so far
	Entry string // the newest of its outbox ever
	Moves int64  // from and to it, so far
	Lent  []rain.Lent
	Torn  []string // moves with invalid records

	stock, returned rain.Numbers // if they were asked for
	invalid         error        // the state or the stock is tampered with
}

// Behind reports whether a shard has less than a known outbox entry and number of moves.
func (l Level) Behind(entry string, moves int64) bool {
	ms, seq, err1 := rain.EntryRef{ID: l.Entry}.Position()
	thenMS, thenSeq, err2 := rain.EntryRef{ID: entry}.Position()
	return err1 != nil || err2 == nil && (ms < thenMS || ms == thenMS && seq < thenSeq) || l.Moves < moves
}

// Shards reads the level of each shard of a campaign, from all masters at once. A shard that cannot be read by the
// end of ctx has Err; if all have, Shards fails. An invalid record hides no other.
func (s *Sums) Shards(ctx context.Context, c *rain.Campaign) ([]Level, error) {
	all := s.read(ctx, c, false)
	if !slices.ContainsFunc(all, func(l Level) bool { return l.Err == nil }) {
		return nil, all[0].Err
	}
	return all, nil
}

// read reads the level of each shard, if stocked with the stock. A packet that is lent meanwhile is in the stock or
// lent, and the state counts each move that was lent.
func (s *Sums) read(ctx context.Context, c *rain.Campaign, stocked bool) []Level {
	all := make([]Level, Shards(c))
	stocks := make([]*redis.StringSliceCmd, len(all))
	moves := make([]*redis.MapStringStringCmd, len(all))
	states := make([]*redis.SliceCmd, len(all))
	s.readShards(ctx, c, func(p redis.Pipeliner, shard int) {
		k := s.keys.shard(c.ID, shard)
		if stocked {
			stocks[shard] = p.LRange(ctx, k.Stock, 0, mostRanges)
		}
		moves[shard] = p.HGetAll(ctx, k.Lent)
		states[shard] = p.HMGet(ctx, k.State, fieldRevision, fieldLeft, fieldWon, fieldLast, fieldMoves)
	})
	for shard := range all {
		l := &all[shard]
		err := errors.Join(states[shard].Err(), moves[shard].Err())
		if stocked {
			err = errors.Join(err, stocks[shard].Err())
		}
		if err != nil {
			l.Err = fmt.Errorf("read shard %d of campaign %s: %w", shard, c.ID, err)
			continue
		}
		var known struct {
			Revision string `redis:"rev"`
			Left     int    `redis:"left"`
			Won      int    `redis:"won"`
			Last     string `redis:"last"`
			Moves    int64  `redis:"moves"`
		}
		// A tampered shard neither lends nor borrows, and the reconciliation names it.
		if l.invalid = states[shard].Scan(&known); l.invalid != nil || known.Revision == "" {
			continue
		}
		*l = Level{Known: true, Left: known.Left, Won: known.Won, Entry: known.Last, Moves: known.Moves}
		l.Lent, l.Torn = parseAllLent(moves[shard].Val())
		if !stocked {
			continue
		}
		var invalid []string
		elements := stocks[shard].Val()
		l.stock, l.returned, invalid = parseStock(elements, c.Packets)
		if len(invalid) > 0 || len(elements) > mostRanges {
			l.invalid = fmt.Errorf("%d ranges of stock; %s: %w", len(elements), strings.Join(invalid, ", "),
				rain.ErrUnreadable)
		}
	}
	return all
}
