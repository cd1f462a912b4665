package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// Snapshot reads all that is in Redis of the campaign's packets: each shard's state and stock of one moment, then what
// is in its outbox of the entries up to that moment. An entry that is removed in between is in the ledger by then.
func (s *Sums) Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	amounts, err := s.amounts.Of(c)
	if err != nil {
		return nil, fmt.Errorf("reading campaign %s from redis: %w", c.ID, err)
	}
	shards := make([]rain.ShardSnapshot, Shards(c))
	err = eachShard(ctx, c, func(ctx context.Context, shard int) (err error) {
		shards[shard], err = s.shard(ctx, c, shard)
		if err == nil {
			shards[shard].Entries, err = s.entries(ctx, c, shards[shard], amounts)
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

// shard reads a shard's state and stock.
func (s *Sums) shard(ctx context.Context, c *rain.Campaign, shard int) (rain.ShardSnapshot, error) {
	k := s.keys.shard(c.ID, shard)
	answer, err := s.run(ctx, s.scripts.snapshot, []string{k.State, k.Stock, k.Lent}, mostRanges+1).Slice()
	if err != nil {
		return rain.ShardSnapshot{}, err
	}
	return parseSnapshot(c, shard, answer)
}

// parseSnapshot reads what snapshot.lua returns.
func parseSnapshot(c *rain.Campaign, shard int, answer []any) (rain.ShardSnapshot, error) {
	none := rain.ShardSnapshot{Shard: shard}
	if len(answer) != 3 {
		return none, errReply
	}
	state, err := pairs(answer[0])
	if err != nil {
		return none, err
	}
	ranges, err := texts(answer[1])
	if err != nil {
		return none, err
	}
	if _, opened := state[fieldRevision]; !opened {
		return none, nil
	}
	s := rain.ShardSnapshot{Shard: shard, Found: true, LastEntry: state[fieldLast]}
	won, ok1 := number(state[fieldWon])
	moves, ok2 := number(state[fieldMoves])
	if !ok1 || !ok2 || !isEntryID(s.LastEntry) {
		return none, fmt.Errorf("state: %w", errRecord)
	}
	s.Won, s.Moves = int(won), moves
	if s.Stock, _, err = parseStock(ranges, c.Packets); err != nil {
		return none, err
	}
	lent, err := pairs(answer[2])
	if err == nil {
		s.Lent, err = parseAllLent(lent)
	}
	return s, err
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

// parseAllLent reads the hash of lent stock.
func parseAllLent(moves map[string]string) (all []rain.Lent, err error) {
	for move, text := range moves {
		if move == "" {
			continue // there so that the key is
		}
		lent, err := parseLent(move, text)
		if err != nil {
			return nil, err
		}
		all = append(all, lent)
	}
	return all, nil
}

// entries reads what is in the outbox of the entries up to the snapshot's moment, page by page. One that cannot be read
// is an error: it may be anybody's money.
func (s *Sums) entries(ctx context.Context, c *rain.Campaign, of rain.ShardSnapshot,
	amounts *rain.Amounts) ([]rain.Entry, error) {
	key := s.keys.shard(c.ID, of.Shard).Outbox
	last := "+"
	if of.Found {
		last = of.LastEntry
	}
	var entries []rain.Entry
	for from := "-"; ; {
		page, err := s.rdb.XRangeN(ctx, key, from, last, entriesAtOnce).Result()
		if s.checked(err) != nil {
			return nil, err
		}
		for _, m := range page {
			entry, err := entryOf(c.ID, of.Shard, m)
			if err != nil {
				return nil, err
			}
			entry.FillIn(amounts)
			entries = append(entries, entry)
		}
		if len(page) < entriesAtOnce {
			return entries, nil
		}
		from = "(" + page[len(page)-1].ID
	}
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
