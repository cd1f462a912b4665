package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

const (
	// mostRanges is how many ranges of stock a shard may have. A rebuild makes one for each gap; hundreds are many.
	mostRanges = 10_000
	// entriesAtOnce is how many outbox entries are read in one call.
	entriesAtOnce = 100
)

// errRanges is a stock in more pieces than can be read at one moment.
var errRanges = errors.New("the stock is in too many pieces")

// snapshotWithin is how long a shard may take to be read. A slot that is stuck on its way to another node never can be.
const snapshotWithin = 5 * time.Second

// Snapshot reads each shard's state and stock, each shard at one moment, the shards one after the other. What no script
// has written is named in the snapshot, so that it hides nothing else, neither of the shard nor of others.
func (s *Sums) Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	shards := make([]rain.ShardSnapshot, Shards(c))
	err := eachShard(ctx, c, func(ctx context.Context, shard int) (err error) {
		answer, err := s.snapshot(ctx, c, shard)
		switch {
		case err == nil:
			shards[shard], err = parseSnapshot(c, shard, answer)
		case isMoving(err):
			shards[shard] = rain.ShardSnapshot{Shard: shard, Unread: fmt.Sprintf("its slot is stuck on the way to "+
				"another node of the Redis Cluster: %v", err)}
			return nil
		case errors.Is(err, rain.ErrUnreadable):
			shards[shard] = rain.ShardSnapshot{Shard: shard, Unread: err.Error()}
			return nil
		}
		if err != nil {
			return fmt.Errorf("shard %d: %w", shard, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading campaign %s from redis: %w", c.ID, err)
	}
	return shards, nil
}

// snapshot asks for one shard's.
func (s *Sums) snapshot(ctx context.Context, c *rain.Campaign, shard int) ([]any, error) {
	k := s.keys.shard(c.ID, shard)
	keys := []string{k.State, k.Stock, k.Lent, k.Outbox}
	within, cancel := context.WithTimeout(ctx, snapshotWithin)
	defer cancel()
	answer := s.run(within, s.scripts.snapshot, keys, mostRanges+1)
	if answer.Err() != nil && within.Err() != nil && ctx.Err() == nil {
		answer = s.scripts.snapshot.Run(ctx, s.rdb, keys, mostRanges+1) // says what it has been that took so long
	}
	list, err := answer.Slice()
	return list, unreadable(err)
}

// parseSnapshot reads what snapshot.lua returns.
func parseSnapshot(c *rain.Campaign, shard int, answer []any) (rain.ShardSnapshot, error) {
	none := rain.ShardSnapshot{Shard: shard}
	if len(answer) != 4 {
		return none, errReply
	}
	state, err1 := pairs(answer[0])
	elements, err2 := texts(answer[1])
	lent, err3 := pairs(answer[2])
	newest, ok := answer[3].(string)
	if err := errors.Join(err1, err2, err3); err != nil || !ok {
		return none, errReply
	}
	if _, opened := state[fieldRevision]; !opened {
		return none, nil
	}
	s := rain.ShardSnapshot{Shard: shard, Found: true, LastEntry: state[fieldLast], NewestEntry: newest}
	field := func(name string) int64 {
		n, ok := number(state[name])
		if !ok {
			s.Unreadable = append(s.Unreadable, fmt.Sprintf("the state's %s is %q", name, state[name]))
		}
		return n
	}
	s.Left, s.Won = int(field(fieldLeft)), int(field(fieldWon))
	s.Moves, s.Epoch = field(fieldMoves), field(fieldEpoch)
	s.Revision = field(fieldRevision)
	readSettings(c, state, &s)
	if !isEntryID(s.LastEntry) {
		s.Unreadable = append(s.Unreadable, fmt.Sprintf("the state's %s is %q", fieldLast, s.LastEntry))
		s.LastEntry = nothingYet
	}
	readStock(c, elements, &s)
	for _, move := range slices.Sorted(maps.Keys(lent)) {
		if move == "" {
			continue // there so that the key is
		}
		one, err := parseLent(move, lent[move])
		if err != nil {
			s.Unreadable = append(s.Unreadable, fmt.Sprintf("move %s is lent as %q", move, lent[move]))
			continue
		}
		s.Lent = append(s.Lent, one)
	}
	return s, nil
}

// readStock reads a stock into a snapshot, element by element.
func readStock(c *rain.Campaign, elements []string, s *rain.ShardSnapshot) {
	end := slices.Index(elements, stockEnd)
	if end < 0 && len(elements) > mostRanges {
		s.Unreadable = append(s.Unreadable, fmt.Sprintf("the stock is in more than %d pieces", mostRanges))
		end = len(elements)
	}
	if end < 0 {
		s.Unreadable = append(s.Unreadable, "the stock has no end")
		end = len(elements)
	}
	for i, text := range elements {
		one, err := rain.ParseNumbers(text, c.Packets)
		switch {
		case i == end:
		case err != nil || len(one) != 1:
			s.Unreadable = append(s.Unreadable, fmt.Sprintf("the stock has %q", text))
		case i < end:
			s.Stock = append(s.Stock, one[0])
		default:
			s.Returned = append(s.Returned, one[0])
		}
	}
}

// parseStock reads the elements of a stock: what can be won, and behind the mark of its end what was given back.
func parseStock(elements []string, packets int) (stock, reclaimed rain.Numbers, err error) {
	if len(elements) > mostRanges {
		return nil, nil, errRanges
	}
	end := slices.Index(elements, stockEnd)
	if end < 0 {
		return nil, nil, fmt.Errorf("stock: it has no end: %w", errRecord)
	}
	if stock, err = parseRanges(elements[:end], packets); err == nil {
		reclaimed, err = parseRanges(elements[end+1:], packets)
	}
	return stock, reclaimed, err
}

// stockEnd is the mark, which makes that a stock is there also where it is empty.
const stockEnd = "."

func parseRanges(elements []string, packets int) (numbers rain.Numbers, err error) {
	for _, text := range elements {
		one, err := rain.ParseNumbers(text, packets)
		if err != nil || len(one) != 1 {
			return nil, fmt.Errorf("stock: %q: %w", text, errRecord)
		}
		numbers = append(numbers, one[0])
	}
	return numbers, nil
}

// parseAllLent reads the hash of lent stock; torn are the moves whose records no script has written.
func parseAllLent(moves map[string]string) (all []rain.Lent, torn []string) {
	for move, text := range moves {
		if move == "" {
			continue // there so that the key is
		}
		lent, err := parseLent(move, text)
		if err != nil {
			torn = append(torn, move)
			continue
		}
		all = append(all, lent)
	}
	return all, torn
}

// EachEntry calls fn with every entry of an outbox up to an id, oldest first, page by page; of one that cannot be read
// it has the reference only, and the error that says why. What is removed or added meanwhile may be among them or not.
// fn's error ends it and is returned.
func (s *Sums) EachEntry(ctx context.Context, c *rain.Campaign, shard int, upTo string,
	fn func(e rain.Entry, unreadable error) error) error {
	key := s.keys.shard(c.ID, shard).Outbox
	for from := "-"; ; {
		page, err := s.rdb.XRangeN(ctx, key, from, upTo, entriesAtOnce).Result()
		if s.checked(err) != nil {
			return fmt.Errorf("reading the outbox of %s.%d: %w", c.ID, shard, unreadable(err))
		}
		for _, m := range page {
			entry, unreadable := entryOf(c.ID, shard, m)
			if unreadable != nil {
				entry = rain.Entry{Ref: rain.EntryRef{Campaign: c.ID, Shard: shard, ID: m.ID}}
			}
			if err := fn(entry, unreadable); err != nil {
				return err
			}
		}
		if len(page) < entriesAtOnce {
			return nil
		}
		from = "(" + page[len(page)-1].ID
	}
}

// Newest is the id of the newest entry that a shard has ever written to its outbox, and when the shard was last cut off
// from what was before, as its state says now; found is false where Redis does not know the shard.
func (s *Sums) Newest(ctx context.Context, c *rain.Campaign, shard int) (entry string, epoch int64, found bool,
	err error) {
	fields, err := s.rdb.HMGet(ctx, s.keys.shard(c.ID, shard).State, fieldLast, fieldEpoch, fieldRevision).Result()
	if s.checked(err) != nil {
		return "", 0, false, fmt.Errorf("reading the state of %s.%d: %w", c.ID, shard, unreadable(err))
	}
	entry, _ = fields[0].(string)
	text, _ := fields[1].(string)
	epoch, _ = number(text)
	return entry, epoch, fields[2] != nil, nil
}

// Borrowed is the number of each move among those of the shard that it was to: 0 where it came before the shard was
// restored, -1 where it has not come. epoch is when the shard was last cut off from what was before.
func (s *Sums) Borrowed(ctx context.Context, c *rain.Campaign, shard int, moves []string) (numbers []int64, epoch int64,
	err error) {
	k := s.keys.shard(c.ID, shard)
	var found *redis.SliceCmd
	var state *redis.StringCmd
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		found, state = p.HMGet(ctx, k.Borrowed, moves...), p.HGet(ctx, k.State, fieldEpoch)
		return nil
	})
	if err := s.checked(err); err != nil && !errors.Is(err, redis.Nil) {
		return nil, 0, fmt.Errorf("reading the moves to %s.%d: %w", c.ID, shard, unreadable(err))
	}
	numbers = make([]int64, len(moves))
	for i, v := range found.Val() {
		text, _ := v.(string)
		n, ok := number(text)
		if numbers[i] = n; !ok {
			numbers[i] = -1
		}
	}
	epoch, _ = number(state.Val())
	return numbers, epoch, nil
}

// pairs makes a map of field, value, field, value.
func pairs(v any) (map[string]string, error) {
	list, err := texts(v)
	if err != nil || len(list)%2 != 0 {
		return nil, errReply
	}
	m := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m, nil
}

// texts is an array of texts.
func texts(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errReply
	}
	all := make([]string, len(list))
	for i, e := range list {
		if all[i], ok = e.(string); !ok {
			return nil, errReply
		}
	}
	return all, nil
}
