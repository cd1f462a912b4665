package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Outbox is what the scripts have decided and the ledger has not posted yet, of all campaigns. An entry is read by
// one consumer at a time, stays until it is removed, and can be claimed by another when its reader is gone. There is
// no limit on its length, because a limit would delete money.
type Outbox struct{ *client }

// NewOutbox makes an Outbox.
func NewOutbox(s *Store) *Outbox { return &Outbox{s.client} }

// Read gives a consumer up to limit entries that no one has read before, oldest first; none is an empty answer,
// without waiting. What is read and not removed comes again through Claim.
func (o *Outbox) Read(ctx context.Context, campaign string, shard int, consumer string,
	limit int) ([]rain.Entry, error) {
	key := o.keys.shard(campaign, shard).Outbox
	args := &redis.XReadGroupArgs{
		// -1: do not wait
		Group: group, Consumer: consumer, Streams: []string{key, ">"}, Count: int64(limit), Block: -1,
	}
	streams, err := o.rdb.XReadGroup(ctx, args).Result()
	if isNoGroup(err) {
		if err = o.makeGroup(ctx, key); err == nil {
			streams, err = o.rdb.XReadGroup(ctx, args).Result()
		}
	}
	switch err = o.checked(err); {
	case errors.Is(err, redis.Nil), isNoGroup(err): // nothing new; or no outbox, as long as the shard is loading
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the outbox of %s.%d: %w", campaign, shard, err)
	}
	var entries []rain.Entry
	for _, s := range streams {
		entries = append(entries, o.Readable(campaign, shard, s.Messages)...)
	}
	return entries, nil
}

// Claim gives a consumer up to limit entries that somebody has read at least minIdle ago and not removed: that consumer
// has died, or what it did with them got lost. Their idle time starts anew.
func (o *Outbox) Claim(
	ctx context.Context, campaign string, shard int, consumer string, minIdle time.Duration, limit int,
) ([]rain.Entry, error) {
	args := &redis.XAutoClaimArgs{
		Stream: o.keys.shard(campaign, shard).Outbox, Group: group, Consumer: consumer, MinIdle: minIdle, Start: "0-0",
	}
	var entries []rain.Entry
	for len(entries) < limit {
		// Redis looks at a limited number of entries in one call; those at the front may all be in good hands.
		args.Count = int64(limit - len(entries))
		messages, next, err := o.rdb.XAutoClaim(ctx, args).Result()
		switch err = o.checked(err); {
		case isNoGroup(err): // Read makes the group
			return entries, nil
		case err != nil:
			return nil, fmt.Errorf("claiming from the outbox of %s.%d: %w", campaign, shard, err)
		}
		entries = append(entries, o.Readable(campaign, shard, messages)...)
		if next == "0-0" {
			break
		}
		args.Start = next
	}
	return entries, nil
}

// Remove deletes entries that the ledger has posted. Removing one that is gone already is nothing.
func (o *Outbox) Remove(ctx context.Context, refs []rain.EntryRef) error {
	byOutbox := map[string][]string{}
	for _, r := range refs {
		key := o.keys.shard(r.Campaign, r.Shard).Outbox
		byOutbox[key] = append(byOutbox[key], r.ID)
	}
	// Not in a MULTI: a full Redis refuses one, and could then never be emptied. In this order nothing is stuck
	// when it is cut off in the middle: an entry that is deleted but not acknowledged is dropped by the next Claim,
	// whereas nobody would ever see one again that is acknowledged but not deleted.
	_, err := o.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, ids := range byOutbox {
			p.XDel(ctx, key, ids...)
			p.XAck(ctx, key, group, ids...)
		}
		return nil
	})
	if o.checked(err) != nil {
		return fmt.Errorf("removing %d outbox entries: %w", len(refs), err)
	}
	return nil
}

// Pending is how many entries of the campaign wait in its outboxes.
func (o *Outbox) Pending(ctx context.Context, c *rain.Campaign) (int64, error) {
	lengths := make([]*redis.IntCmd, Shards(c))
	_, err := o.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range lengths {
			lengths[shard] = p.XLen(ctx, o.keys.shard(c.ID, shard).Outbox)
		}
		return nil
	})
	if o.checked(err) != nil {
		return 0, fmt.Errorf("counting what waits in the outbox of %s: %w", c.ID, err)
	}
	var total int64
	for _, n := range lengths {
		total += n.Val()
	}
	return total, nil
}

// Waiting is the oldest entries of each outbox, up to limit of each shard, for those who want to show them. It
// takes nothing from anybody, and is not one moment's picture; Snapshot is, and costs Redis more the more is
// waiting.
func (o *Outbox) Waiting(ctx context.Context, c *rain.Campaign, limit int) ([]rain.Entry, error) {
	found := make([]*redis.XMessageSliceCmd, Shards(c))
	_, err := o.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range found {
			found[shard] = p.XRangeN(ctx, o.keys.shard(c.ID, shard).Outbox, "-", "+", int64(limit))
		}
		return nil
	})
	if o.checked(err) != nil {
		return nil, fmt.Errorf("reading what waits in the outbox of %s: %w", c.ID, err)
	}
	amounts, err := o.amounts.Of(c)
	if err != nil {
		return nil, err
	}
	var entries []rain.Entry
	for shard, messages := range found {
		entries = append(entries, o.Readable(c.ID, shard, messages.Val())...)
	}
	for i := range entries {
		entries[i].FillIn(amounts)
	}
	return entries, nil
}

// Page is a part of an outbox, the oldest first.
type Page struct {
	Entries []rain.Entry
	Torn    []Torn // those that cannot be read
	Last    string // the newest id among all of them; "": there are none
}

// Page is up to limit entries after one; "" begins. It takes them from nobody.
func (o *Outbox) Page(ctx context.Context, campaign string, shard int, after string, limit int) (p Page, err error) {
	from := "-"
	if after != "" {
		from = "(" + after
	}
	found, err := o.rdb.XRangeN(ctx, o.keys.shard(campaign, shard).Outbox, from, "+", int64(limit)).Result()
	if o.checked(err) != nil {
		return p, fmt.Errorf("reading the outbox of %s.%d: %w", campaign, shard, err)
	}
	for _, m := range found {
		p.Last = m.ID
		entry, err := entryOf(campaign, shard, m)
		if err != nil {
			p.Torn = append(p.Torn, tornOf(rain.EntryRef{Campaign: campaign, Shard: shard, ID: m.ID}, m, err))
			continue
		}
		p.Entries = append(p.Entries, entry)
	}
	return p, nil
}

// Lookup is what an outbox has under an entry's id.
type Lookup struct {
	Entry *rain.Entry // nil where it is gone, or cannot be read
	Gone  bool        // removed, or lost
}

// Lookup reads entries by their ids, and takes them from nobody.
func (o *Outbox) Lookup(ctx context.Context, campaign string, shard int, ids []string) ([]Lookup, error) {
	found := make([]*redis.XMessageSliceCmd, len(ids))
	_, err := o.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			found[i] = p.XRange(ctx, o.keys.shard(campaign, shard).Outbox, id, id)
		}
		return nil
	})
	if o.checked(err) != nil {
		return nil, fmt.Errorf("looking into the outbox of %s.%d: %w", campaign, shard, err)
	}
	all := make([]Lookup, len(ids))
	for i := range ids {
		if entries := o.Readable(campaign, shard, found[i].Val()); len(entries) == 1 {
			all[i].Entry = &entries[0]
		}
		all[i].Gone = len(found[i].Val()) == 0
	}
	return all, nil
}

// Readable parses entries. One that cannot be read is left where it is: it is somebody's money. It must not hold up the
// others either.
func (o *Outbox) Readable(campaign string, shard int, messages []redis.XMessage) []rain.Entry {
	entries := make([]rain.Entry, 0, len(messages))
	for _, m := range messages {
		entry, err := entryOf(campaign, shard, m)
		if err != nil {
			o.log.Error("an outbox entry cannot be read; it stays in the outbox until a person has looked at it",
				"err", err)
			continue
		}
		entries = append(entries, entry)
	}
	return entries
}

// entryOf parses an entry.
func entryOf(campaign string, shard int, m redis.XMessage) (rain.Entry, error) {
	values := make(map[string]string, len(m.Values))
	for field, value := range m.Values {
		values[field], _ = value.(string) // go-redis has only strings here
	}
	return parseEntry(rain.EntryRef{Campaign: campaign, Shard: shard, ID: m.ID}, values)
}

// makeGroup makes the consumer group where it is missing (Redis has lost it), from the first entry on: what has been
// read before comes again, which the ledger recognises. Without an outbox nothing is made.
func (o *Outbox) makeGroup(ctx context.Context, key string) error {
	exists, err := o.rdb.Exists(ctx, key).Result()
	if err != nil || exists == 0 {
		return err
	}
	err = o.rdb.XGroupCreate(ctx, key, group, "0").Err()
	if err != nil && !strings.Contains(err.Error(), "BUSYGROUP") { // another node was faster
		return err
	}
	return nil
}

func isNoGroup(err error) bool { return err != nil && strings.Contains(err.Error(), "NOGROUP") }
