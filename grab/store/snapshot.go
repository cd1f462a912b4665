package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"redrain/rain"
)

const (
	// mostRanges is the most ranges of stock of a shard. A rebuild makes one for each gap; hundreds are many.
	mostRanges = 10_000
	// entriesAtOnce is the number of outbox entries that are read in one call.
	entriesAtOnce = 100
)

// snapshotWithin is the time limit for reading a shard. A stuck slot migration would block it for ever.
const snapshotWithin = 5 * time.Second

// Snapshot reads each shard's state and stock, each shard atomically, the shards one after the other. Invalid records
// are named in the snapshot, so that they hide nothing else, neither of the shard nor of others.
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
		return wrap(err, "shard %d", shard)
	})
	if err != nil {
		return nil, fmt.Errorf("read campaign %s from redis: %w", c.ID, err)
	}
	return shards, nil
}

// snapshot reads one shard.
func (s *Sums) snapshot(ctx context.Context, c *rain.Campaign, shard int) ([]any, error) {
	k := s.keys.shard(c.ID, shard)
	keys := []string{k.State, k.Stock, k.Lent, k.Outbox}
	within, cancel := context.WithTimeout(ctx, snapshotWithin)
	defer cancel()
	answer := s.run(within, "snapshot", keys, mostRanges+1)
	if answer.Err() != nil && within.Err() != nil && ctx.Err() == nil {
		answer = s.scripts["snapshot"].Run(ctx, s.rdb, keys, mostRanges+1) // its error names the cause of the delay
	}
	list, err := answer.Slice()
	return list, unreadable(err)
}

// parseSnapshot parses the answer of snapshot.lua.
func parseSnapshot(c *rain.Campaign, shard int, answer []any) (rain.ShardSnapshot, error) {
	none := rain.ShardSnapshot{Shard: shard}
	if len(answer) != 4 {
		return none, errReply
	}
	state, ok1 := pairs(answer[0])
	elements, ok2 := texts(answer[1])
	lent, ok3 := pairs(answer[2])
	newest, ok4 := answer[3].(string)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return none, errReply
	}
	if _, opened := state[fieldRevision]; !opened {
		return none, nil
	}
	s := rain.ShardSnapshot{Shard: shard, Found: true, LastEntry: state[fieldLast], NewestEntry: newest}
	field := func(name string) int64 {
		n, ok := rain.ParseInt(state[name])
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
	var invalid []string
	s.Stock, _, invalid = parseStock(elements, c.Packets)
	s.Unreadable = append(s.Unreadable, invalid...)
	s.Lent, invalid = parseAllLent(lent)
	for _, move := range invalid {
		s.Unreadable = append(s.Unreadable, fmt.Sprintf("move %s is lent as %q", move, lent[move]))
	}
	return s, nil
}

// parseStock parses the elements of a stock: the packets that can be won, and behind the end mark the returned ones.
// The result invalid names the elements that no script has written.
func parseStock(elements []string, packets int) (stock, returned rain.Numbers, invalid []string) {
	end := slices.Index(elements, stockEnd)
	switch {
	case end < 0 && len(elements) > mostRanges:
		invalid, end = append(invalid, fmt.Sprintf("the stock is in more than %d pieces", mostRanges)), len(elements)
	case end < 0:
		invalid, end = append(invalid, "the stock has no end"), len(elements)
	}
	for i, text := range elements {
		one, err := rain.ParseNumbers(text, packets)
		switch {
		case i == end:
		case err != nil || len(one) != 1:
			invalid = append(invalid, fmt.Sprintf("the stock has %q", text))
		case i < end:
			stock = append(stock, one[0])
		default:
			returned = append(returned, one[0])
		}
	}
	return stock, returned, invalid
}

// stockEnd is the end mark, which keeps the key of an empty stock in existence.
const stockEnd = "."

// parseAllLent parses the hash of lent stock; invalid are the moves with invalid records.
func parseAllLent(moves map[string]string) (all []rain.Lent, torn []string) {
	for _, move := range slices.Sorted(maps.Keys(moves)) {
		if lent, err := parseLent(move, moves[move]); err == nil {
			all = append(all, lent)
		} else if move != "" { // which only keeps the key in existence
			torn = append(torn, move)
		}
	}
	return all, torn
}

// EachEntry calls fn with every entry of an outbox up to an id, oldest first, page by page. For an unreadable one it
// passes only the reference and the error. Entries that are removed or added meanwhile may be missing. fn's error
// ends it and is returned.
func (s *Sums) EachEntry(ctx context.Context, c *rain.Campaign, shard int, upTo string,
	fn func(e rain.Entry, unreadable error) error) error {
	for after := ""; ; {
		page, next, err := s.page(ctx, c.ID, shard, after, upTo, entriesAtOnce)
		if err != nil {
			return err
		}
		for _, m := range page {
			if err := fn(entryOf(c.ID, shard, m)); err != nil {
				return err
			}
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// Newest returns the id of the newest entry ever in a shard's outbox, and the time of its last fence, from its state.
// If Redis has no state of the shard, found is false.
func (s *Sums) Newest(ctx context.Context, c *rain.Campaign, shard int) (entry string, epoch int64, found bool,
	err error) {
	fields, err := s.rdb.HMGet(ctx, s.keys.shard(c.ID, shard).State, fieldLast, fieldEpoch, fieldRevision).Result()
	if s.Checked(err) != nil {
		return "", 0, false, fmt.Errorf("read the state of %s.%d: %w", c.ID, shard, unreadable(err))
	}
	entry, _ = fields[0].(string)
	text, _ := fields[1].(string)
	epoch, _ = rain.ParseInt(text)
	return entry, epoch, fields[2] != nil, nil
}

// pairs converts an array of field, value, field, value to a map.
func pairs(v any) (map[string]string, bool) {
	list, ok := texts(v)
	m := make(map[string]string, len(list)/2)
	for i := 1; i < len(list); i += 2 {
		m[list[i-1]] = list[i]
	}
	return m, ok && len(list)%2 == 0
}

// texts converts an array of texts.
func texts(v any) (all []string, ok bool) {
	list, ok := v.([]any)
	for _, e := range list {
		text, is := e.(string)
		all, ok = append(all, text), ok && is
	}
	return all, ok
}
