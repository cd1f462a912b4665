package store

import (
	"context"
	"fmt"

	"redrain/rain"
)

// Snapshot reads all that is in Redis of the campaign's money, each shard in one atomic step. The shards are not
// read at the same moment; they share no packet, so their sums can be added all the same.
func (s *Sums) Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	shards := make([]rain.ShardSnapshot, Shards(c))
	err := eachShard(ctx, c, func(ctx context.Context, shard int) error {
		k := s.keys.shard(c.ID, shard)
		answer, err := s.run(ctx, s.scripts.snapshot, []string{k.State, k.Stock, k.Outbox}).Slice()
		if err == nil {
			shards[shard], err = parseSnapshot(c.ID, shard, answer)
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

// parseSnapshot reads what snapshot.lua returns.
func parseSnapshot(campaign string, shard int, answer []any) (rain.ShardSnapshot, error) {
	if len(answer) != 3 {
		return rain.ShardSnapshot{}, errReply
	}
	state, err := pairs(answer[0])
	if err != nil {
		return rain.ShardSnapshot{}, err
	}
	stock, ok1 := answer[1].(int64)
	outbox, ok2 := answer[2].([]any)
	if !ok1 || !ok2 {
		return rain.ShardSnapshot{}, errReply
	}
	s := rain.ShardSnapshot{Shard: shard}
	if _, opened := state[fieldRevision]; opened {
		left, ok1 := number(state[fieldLeft])
		won, ok2 := number(state[fieldWon])
		amountWon, ok3 := number(state[fieldAmountWon])
		if !ok1 || !ok2 || !ok3 {
			return rain.ShardSnapshot{}, fmt.Errorf("state: %w", errRecord)
		}
		s = rain.ShardSnapshot{
			Shard: shard, Found: true, Packets: int(stock), Left: rain.Money(left),
			Won: int(won), AmountWon: rain.Money(amountWon), LastEntry: state[fieldLast],
		}
	}
	for _, e := range outbox {
		entry, err := entryOf(campaign, shard, e)
		if err != nil {
			return rain.ShardSnapshot{}, err
		}
		s.Entries = append(s.Entries, entry)
	}
	return s, nil
}

// entryOf reads an entry as XRANGE gives it: its id, and its fields and values.
func entryOf(campaign string, shard int, v any) (rain.Entry, error) {
	parts, ok := v.([]any)
	if !ok || len(parts) != 2 {
		return rain.Entry{}, errReply
	}
	id, ok := parts[0].(string)
	if !ok {
		return rain.Entry{}, errReply
	}
	values, err := pairs(parts[1])
	if err != nil {
		return rain.Entry{}, err
	}
	return parseEntry(rain.EntryRef{Campaign: campaign, Shard: shard, ID: id}, values)
}

// pairs makes a map of field, value, field, value.
func pairs(v any) (map[string]string, error) {
	list, ok := v.([]any)
	if !ok || len(list)%2 != 0 {
		return nil, errReply
	}
	m := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		field, ok1 := list[i].(string)
		value, ok2 := list[i+1].(string)
		if !ok1 || !ok2 {
			return nil, errReply
		}
		m[field] = value
	}
	return m, nil
}
