package store

import (
	"context"
	"errors"
	"fmt"
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
	states := make([]*redis.SliceCmd, Shards(c))
	stocks := make([]*redis.StringSliceCmd, Shards(c))
	moves := make([]*redis.MapStringStringCmd, Shards(c))
	s.readShards(ctx, c, func(p redis.Pipeliner, shard int) {
		k := s.keys.shard(c.ID, shard)
		states[shard] = p.HMGet(ctx, k.State, fieldStatus, fieldWon)
		stocks[shard] = p.LRange(ctx, k.Stock, 0, mostRanges)
		moves[shard] = p.HGetAll(ctx, k.Lent)
	})
	var sum Levels
	var left, reclaimed rain.Numbers
	var failed error
	for shard := range states {
		err := errors.Join(states[shard].Err(), stocks[shard].Err(), moves[shard].Err())
		var one level
		if err == nil {
			one, err = parseLevel(c, states[shard], stocks[shard].Val(), moves[shard].Val())
			if err != nil && !errors.Is(err, ErrNoState) {
				return Levels{}, fmt.Errorf("read the levels of campaign %s, shard %d: %w", c.ID, shard, err)
			}
		}
		if err != nil {
			sum.Unknown++
			if failed == nil {
				failed = fmt.Errorf("read the levels of campaign %s, shard %d: %w", c.ID, shard, err)
			}
			left = append(left, c.Layout().Stock(shard)...)
			continue
		}
		sum.Won += one.won
		sum.WonByLane[c.Layout().LaneOfShard(shard)] += one.won
		left, reclaimed = append(left, one.left...), append(reclaimed, one.reclaimed...)
	}
	if sum.Unknown == len(states) {
		return Levels{}, failed
	}
	left = rain.Remaining(left, reclaimed) // lent stock may have arrived at its shard already
	sum.Stock, sum.ByLane, sum.AmountLeft = left.Count(), c.Layout().ByLane(left), amounts.Sum(left)
	sum.AmountWon = c.Budget - sum.AmountLeft - amounts.Sum(reclaimed)
	return sum, nil
}

// Level holds the sums of one shard.
type Level struct {
	Known bool   // false if Redis has no or incomplete state of the shard, or does not answer
	Err   error  // why it could not be read
	Left  int    // packets in its stock
	Won   int    // so far
	Entry string // the newest of its outbox ever
	Moves int64  // from and to it, so far
	Lent  []rain.Lent
	Torn  []string // moves with invalid records
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
	states := make([]*redis.SliceCmd, Shards(c))
	moves := make([]*redis.MapStringStringCmd, Shards(c))
	s.readShards(ctx, c, func(p redis.Pipeliner, shard int) {
		k := s.keys.shard(c.ID, shard)
		moves[shard] = p.HGetAll(ctx, k.Lent) // first: then the state has each lent move
		states[shard] = p.HMGet(ctx, k.State, fieldRevision, fieldLeft, fieldWon, fieldLast, fieldMoves)
	})
	all := make([]Level, len(states))
	unread := 0
	for shard := range states {
		all[shard] = parseShard(states[shard], moves[shard])
		if err := all[shard].Err; err != nil {
			all[shard].Err = fmt.Errorf("read shard %d of campaign %s: %w", shard, c.ID, err)
			unread++
		}
	}
	if unread == len(all) {
		return nil, all[0].Err
	}
	return all, nil
}

func parseShard(state *redis.SliceCmd, moves *redis.MapStringStringCmd) (l Level) {
	if err := errors.Join(state.Err(), moves.Err()); err != nil {
		return Level{Err: err}
	}
	var known struct {
		Revision string `redis:"rev"`
		Left     int    `redis:"left"`
		Won      int    `redis:"won"`
		Last     string `redis:"last"`
		Moves    int64  `redis:"moves"`
	}
	if state.Scan(&known) != nil {
		return Level{} // a tampered shard: it neither lends nor borrows, and the reconciliation names it
	}
	l = Level{Known: known.Revision != "", Left: known.Left, Won: known.Won, Entry: known.Last, Moves: known.Moves}
	if l.Known {
		l.Lent, l.Torn = parseAllLent(moves.Val())
	}
	return l
}

// level holds the replies for the level of one shard.
type level struct {
	won             int
	left, reclaimed rain.Numbers
}

func parseLevel(c *rain.Campaign, state *redis.SliceCmd, elements []string, moves map[string]string) (l level,
	err error) {
	var s struct {
		Status string `redis:"status"`
		Won    int    `redis:"won"`
	}
	if err := state.Scan(&s); err != nil {
		return l, err
	}
	if s.Status == "" || s.Status == rebuilding {
		return l, ErrNoState
	}
	l.won = s.Won
	if len(elements) > mostRanges {
		return l, errRanges
	}
	var invalid []string
	if l.left, l.reclaimed, invalid = parseStock(elements, c.Packets); len(invalid) > 0 {
		return l, fmt.Errorf("%s: %w", strings.Join(invalid, ", "), rain.ErrUnreadable)
	}
	lent, _ := parseAllLent(moves)
	for _, move := range lent {
		l.left = append(l.left, move.Numbers...)
	}
	return l, nil
}
