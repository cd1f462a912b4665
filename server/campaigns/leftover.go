package campaigns

import (
	"context"
	"fmt"
	"slices"

	"redrain/grab/store"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// leftOverAtOnce is the number of entries of an outbox that one step settles.
const leftOverAtOnce = 100

// settleLeftOver posts the entries in a lost shard's outbox to the ledger. The outbox sweeper would publish them. But
// in a Redis that was rolled back most were settled long ago, and JetStream drops them as copies for minutes.
//
// With epochs, the ledger has all confirmed wins by now. So an entry whose packets have other owners was never
// confirmed: it leaves the outbox.
func (r *Rebuilder) settleLeftOver(ctx context.Context, c *rain.Campaign, shard int, epochs bool) error {
	for after := ""; ; {
		entries, next, err := r.o.Outbox.Page(ctx, c.ID, shard, after, leftOverAtOnce)
		if err != nil {
			return err
		}
		if epochs {
			if entries, err = r.withoutRivals(ctx, c, entries); err != nil {
				return err
			}
		}
		if len(entries) > 0 {
			if err := r.settleNow(ctx, entries); err != nil {
				return err
			}
		}
		torn, _, err := r.o.Outbox.Torn(ctx, c.ID, shard, after, leftOverAtOnce)
		if err == nil {
			err = r.putAside(ctx, c, torn)
		}
		if err != nil || next == "" {
			return err
		}
		after = next
	}
}

// withoutRivals removes entries from the outbox whose packets the ledger has given to other players, and returns the
// rest.
func (r *Rebuilder) withoutRivals(ctx context.Context, c *rain.Campaign, entries []rain.Entry) (rest []rain.Entry,
	err error) {
	var dropped []rain.EntryRef
	for i := range entries {
		has := map[int]rain.Win{}
		err := r.o.Ledger.EachAssigned(ctx, c, entries[i].Packets(), func(k posting.Assigned) error {
			has[k.Win.Packet] = k.Win
			return nil
		})
		if err != nil {
			return nil, err
		}
		isRival := func(w rain.Win) bool {
			other, assigned := has[w.Packet]
			return assigned && (other.User != w.User || other.Drop != w.Drop)
		}
		if slices.ContainsFunc(entries[i].Wins, isRival) {
			r.o.Log.Info("an entry that was never confirmed leaves the outbox; its packets have other owners", "entry",
				entries[i].Ref.String())
			dropped = append(dropped, entries[i].Ref)
		} else {
			rest = append(rest, entries[i])
		}
	}
	if len(dropped) > 0 {
		err = r.o.Outbox.Remove(ctx, dropped)
	}
	return rest, err
}

func (r *Rebuilder) settleNow(ctx context.Context, entries []rain.Entry) error {
	if err := r.o.Stream.PostNow(ctx, entries); err != nil {
		return err
	}
	refs := make([]rain.EntryRef, len(entries))
	for i, e := range entries {
		refs[i] = e.Ref
	}
	return r.o.Outbox.Remove(ctx, refs)
}

// putAside makes unreadable outbox entries dead letters, unchanged, because a shard is not restored while it has any.
// First it posts the wins of such an entry that Redis still has: their seals prove them.
func (r *Rebuilder) putAside(ctx context.Context, c *rain.Campaign, torn []store.Torn) error {
	for _, t := range torn {
		told, err := r.o.Wins.Told(ctx, c, t)
		if err != nil {
			return err
		}
		if len(told.Wins) > 0 {
			if err := r.o.Stream.PostNow(ctx, []rain.Entry{told}); err != nil {
				return err
			}
		}
		kept, err := r.o.Letters.BuryMessage(ctx, posting.Message{Name: "outbox " + t.Ref.String(), Campaign: c.ID,
			Payload: t.Text, Reason: t.Reason})
		if err != nil {
			return err
		}
		// If many like it are kept already, it is only logged.
		r.o.Log.Error("read an outbox entry; it leaves the outbox", "entry", t.Ref.String(), "reason",
			t.Reason,
			"kept_as_a_dead_letter", kept, "wins_posted", len(told.Wins), "fields",
			string(t.Text[:min(len(t.Text), 2000)]))
		if err := r.o.Outbox.Remove(ctx, []rain.EntryRef{t.Ref}); err != nil {
			return err
		}
	}
	if len(torn) > 0 {
		r.o.Bus.Alarm("dead_letter", c.ID, fmt.Sprintf("%d outbox entries that cannot be read wait for a person, the "+
			"first because: %s", len(torn), torn[0].Reason))
	}
	return nil
}

// clean dead-letters unreadable entries at the front of the outboxes of shards that are not lost. All other entries
// leave by themselves, so the unreadable ones reach the front.
func (r *Rebuilder) clean(ctx context.Context, c *rain.Campaign, lost []int) error {
	for shard := range store.Shards(c) {
		if slices.Contains(lost, shard) {
			continue
		}
		torn, _, err := r.o.Outbox.Torn(ctx, c.ID, shard, "", leftOverAtOnce)
		if err == nil {
			err = r.putAside(ctx, c, torn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
