package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"redrain/internal/seal"
	"redrain/rain"
)

// Outbox holds the decisions of the scripts that the ledger has not posted yet, of all campaigns. An entry stays
// until it is removed. Its length has no limit, because a limit would delete money.
type Outbox struct{ *client }

// NewOutbox returns an Outbox.
func NewOutbox(s *Store) *Outbox { return &Outbox{s.client} }

// Remove deletes entries that the ledger has posted. Removing a missing entry changes nothing.
func (o *Outbox) Remove(ctx context.Context, refs []rain.EntryRef) error {
	byOutbox := map[string][]string{}
	for _, r := range refs {
		key := o.keys.shard(r.Campaign, r.Shard).Outbox
		byOutbox[key] = append(byOutbox[key], r.ID)
	}
	// Not in a MULTI: a full Redis refuses one, and could then never be emptied.
	err := o.pipelined(ctx, func(p redis.Pipeliner) {
		for key, ids := range byOutbox {
			p.XDel(ctx, key, ids...)
		}
	})
	return wrap(err, "remove %d outbox entries", len(refs))
}

// Pending returns the number of entries in the campaign's outboxes.
func (o *Outbox) Pending(ctx context.Context, c *rain.Campaign) (int64, error) {
	lengths, err := ofShards(ctx, o.client, c, func(p redis.Pipeliner, k Keys) *redis.IntCmd {
		return p.XLen(ctx, k.Outbox)
	})
	var total int64
	for _, n := range lengths {
		total += n.Val()
	}
	return total, wrap(err, "count outbox entries of %s", c.ID)
}

// Waiting returns the oldest entries of each outbox, up to limit of each shard, for display. It is not a snapshot;
// Snapshot is one, and costs Redis more the longer the outboxes are.
func (o *Outbox) Waiting(ctx context.Context, c *rain.Campaign, limit int) ([]rain.Entry, error) {
	found, err := ofShards(ctx, o.client, c, func(p redis.Pipeliner, k Keys) *redis.XMessageSliceCmd {
		return p.XRangeN(ctx, k.Outbox, "-", "+", int64(limit))
	})
	if err != nil {
		return nil, fmt.Errorf("read the outboxes of %s: %w", c.ID, err)
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

// Page reads up to limit entries after one, the oldest first; "" begins. next is the argument for the following page,
// "" if this is the last. It leaves out unreadable entries.
func (o *Outbox) Page(ctx context.Context, campaign string, shard int, after string, limit int) (
	entries []rain.Entry, next string, err error,
) {
	found, next, err := o.page(ctx, campaign, shard, after, "+", limit)
	return o.Readable(campaign, shard, found), next, err
}

// page reads up to limit messages after one, up to another, as Page does.
func (c *client) page(ctx context.Context, campaign string, shard int, after, upTo string, limit int) (
	found []redis.XMessage, next string, err error,
) {
	from := "-"
	if after != "" {
		from = "(" + after
	}
	found, err = c.rdb.XRangeN(ctx, c.keys.shard(campaign, shard).Outbox, from, upTo, int64(limit)).Result()
	if c.Checked(err) != nil {
		return nil, "", fmt.Errorf("read the outbox of %s.%d: %w", campaign, shard, unreadable(err))
	}
	if len(found) == limit {
		next = found[limit-1].ID
	}
	return found, next, nil
}

// Lookup is the result for one entry's id.
type Lookup struct {
	Entry *rain.Entry // nil if it is gone, or cannot be read
	Gone  bool        // removed, or lost
}

// Lookup reads entries by their ids.
func (o *Outbox) Lookup(ctx context.Context, campaign string, shard int, ids []string) ([]Lookup, error) {
	found := make([]*redis.XMessageSliceCmd, len(ids))
	err := o.pipelined(ctx, func(p redis.Pipeliner) {
		for i, id := range ids {
			found[i] = p.XRange(ctx, o.keys.shard(campaign, shard).Outbox, id, id)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look up entries in the outbox of %s.%d: %w", campaign, shard, err)
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

// Readable parses entries. An unreadable entry stays in the outbox, because it is a player's money. It does not block
// the others.
func (o *Outbox) Readable(campaign string, shard int, messages []redis.XMessage) []rain.Entry {
	entries := make([]rain.Entry, 0, len(messages))
	for _, m := range messages {
		entry, err := entryOf(campaign, shard, m)
		if err != nil {
			o.log.Error("parse an outbox entry; it stays in the outbox until an operator has inspected it",
				"err", err)
			continue
		}
		entries = append(entries, entry)
	}
	return entries
}

// entryOf parses an entry. With an error it has only its reference.
func entryOf(campaign string, shard int, m redis.XMessage) (rain.Entry, error) {
	return parseEntry(rain.EntryRef{Campaign: campaign, Shard: shard, ID: m.ID}, fieldsOf(m))
}

func fieldsOf(m redis.XMessage) map[string]string {
	fields := make(map[string]string, len(m.Values))
	for field, value := range m.Values {
		fields[field], _ = value.(string) // go-redis has only strings here
	}
	return fields
}

// The fields of an outbox entry.
const (
	entryAt      = "at"      // when it was sealed, Unix ms
	entryPackets = "packets" // ranges, in the order of the wins
	entryWins    = "wins"    // a line "<seal> <ticket> <user>" for each win
	entryReclaim = "reclaim" // the seal of the closing
)

// appendLine appends the line that the script writes to the outbox if the tap wins.
func appendLine(b []byte, ring *seal.Ring, campaign, user string, of rain.Ticket, at int64) []byte {
	var room [32]byte
	ticket := of.Append(room[:0])
	b = append(ring.AppendTap(b, campaign, user, ticket, at), ' ')
	b = append(append(b, ticket...), ' ')
	return append(b, user...)
}

// parseEntry reads an entry of the outbox. With an error it has only its reference.
func parseEntry(ref rain.EntryRef, values map[string]string) (rain.Entry, error) {
	entry := rain.Entry{Ref: ref}
	if _, _, err := ref.Position(); err != nil {
		return entry, err
	}
	at, ok := rain.ParseInt(values[entryAt])
	numbers, err := rain.ParseNumbers(values[entryPackets], rain.MaxPackets)
	if !ok || err != nil || len(numbers) == 0 || len(values) != 3 {
		return entry, fmt.Errorf("outbox entry %s: %w", ref, rain.ErrUnreadable)
	}
	if mark, reclaim := values[entryReclaim]; reclaim {
		return rain.Entry{Ref: ref, SealedAt: at, Reclaim: &rain.Reclaim{Numbers: numbers, Seal: mark}}, nil
	}
	wins, err := parseLines(values[entryWins], numbers)
	if err != nil {
		return entry, fmt.Errorf("outbox entry %s: %w", ref, err)
	}
	return rain.Entry{Ref: ref, SealedAt: at, Wins: wins}, nil
}

// parseLines reads the lines of wins, and gives them their packets.
func parseLines(text string, numbers rain.Numbers) ([]rain.Win, error) {
	wins := make([]rain.Win, 0, strings.Count(text, "\n")+1)
	for line := range strings.SplitSeq(text, "\n") {
		wins = append(wins, parseLine(line))
	}
	if numbers.Count() != len(wins) {
		return nil, fmt.Errorf("%d packets for %d wins: %w", numbers.Count(), len(wins), rain.ErrUnreadable)
	}
	i := 0
	for packet := range numbers.Each() {
		wins[i].Packet = packet
		i++
	}
	return wins, nil
}

func parseLine(line string) rain.Win {
	mark, rest, _ := strings.Cut(line, " ")
	ticket, user, _ := strings.Cut(rest, " ") // the user may have spaces
	return rain.Win{User: user, Drop: ticket, Seal: mark}
}

// Torn is an unreadable outbox entry: no script has written it, or it was tampered with.
type Torn struct {
	Ref    rain.EntryRef
	Text   []byte // its fields, as JSON
	Reason string

	fields map[string]string
}

// Torn returns the unreadable entries among up to limit entries after one, the oldest first; "" begins. The result
// next is the argument for the following page, "" if this is the last.
func (o *Outbox) Torn(ctx context.Context, campaign string, shard int, after string, limit int) (torn []Torn,
	next string, err error) {
	found, next, err := o.page(ctx, campaign, shard, after, "+", limit)
	for _, m := range found {
		if e, err := entryOf(campaign, shard, m); err != nil {
			t := Torn{Ref: e.Ref, Reason: err.Error(), fields: fieldsOf(m)}
			t.Text, _ = json.Marshal(t.fields) //nolint:errchkjson // texts only: it cannot fail
			torn = append(torn, t)
		}
	}
	return torn, next, err
}

// Told returns the wins of an unreadable entry that the wins hash still has, with their packets. It is empty if the
// entry names no wins, or the hash has none of this entry. The entry's seals prove them.
func (w *Wins) Told(ctx context.Context, c *rain.Campaign, t Torn) (rain.Entry, error) {
	e := rain.Entry{Ref: t.Ref}
	at, ok := rain.ParseInt(t.fields[entryAt])
	if !ok || t.fields[entryWins] == "" {
		return e, nil
	}
	e.SealedAt = at
	var named []rain.Win
	for line := range strings.SplitSeq(t.fields[entryWins], "\n") {
		win := parseLine(line)
		if _, ok := rain.ParseTicket(win.Drop); ok && rain.CheckUser(win.User) == nil {
			named = append(named, win)
		}
	}
	records, err := w.WinsOf(ctx, c, t.Ref.Shard, named)
	if err != nil {
		return e, err
	}
	for i, r := range records {
		if r.Entry == t.Ref.ID {
			named[i].Packet = r.Packet
			e.Wins = append(e.Wins, named[i])
		}
	}
	return e, nil
}
