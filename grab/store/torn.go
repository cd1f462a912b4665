package store

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Torn is an unreadable outbox entry: no script has written it, or it was tampered with.
type Torn struct {
	Ref    rain.EntryRef
	Text   []byte // its fields, as JSON
	Reason string

	fields map[string]string
}

// tornOf returns the fields of an unreadable entry.
func tornOf(ref rain.EntryRef, m redis.XMessage, err error) Torn {
	t := Torn{Ref: ref, Reason: err.Error(), fields: fieldsOf(m)}
	t.Text, _ = json.Marshal(t.fields) //nolint:errchkjson // texts only: it cannot fail
	return t
}

// Torn returns the unreadable entries among up to limit entries after one, the oldest first; "" begins. The result
// next is the argument for the following page, "" if this is the last.
func (o *Outbox) Torn(ctx context.Context, campaign string, shard int, after string, limit int) (torn []Torn,
	next string, err error) {
	found, next, err := o.page(ctx, campaign, shard, after, limit)
	for _, m := range found {
		if _, err := entryOf(campaign, shard, m); err != nil {
			torn = append(torn, tornOf(rain.EntryRef{Campaign: campaign, Shard: shard, ID: m.ID}, m, err))
		}
	}
	return torn, next, err
}

// Told returns the wins of an unreadable entry that the wins hash still has, with their packets. It is empty if the
// entry names no wins, or the hash has none of this entry. The entry's seals prove them.
func (w *Wins) Told(ctx context.Context, c *rain.Campaign, t Torn) (rain.Entry, error) {
	e := rain.Entry{Ref: t.Ref}
	at, ok := number(t.fields[entryAt])
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
