package campaigns

import (
	"context"
	"fmt"
	"slices"

	"redrain/grab/store"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// LeftOver is what is in the outbox of a shard that Redis knows too little of. [store.Outbox] has it.
type LeftOver interface {
	Page(ctx context.Context, campaign string, shard int, after string, limit int) (entries []rain.Entry, next string,
		err error)
	Torn(ctx context.Context, campaign string, shard int, after string, limit int) (torn []store.Torn, next string,
		err error)
	Remove(ctx context.Context, refs []rain.EntryRef) error
}

// ToldWins finds out what an outbox entry that cannot be read was about. [store.Wins] does.
type ToldWins interface {
	Told(ctx context.Context, c *rain.Campaign, t store.Torn) (rain.Entry, error)
}

// MessageLetters keeps messages that a person should look at. [posting.Poster] does.
type MessageLetters interface {
	BuryMessage(ctx context.Context, m posting.Message) (kept bool, err error)
}

// leftOverAtOnce is how many entries of an outbox are settled in one step.
const leftOverAtOnce = 100

// settleLeftOver brings what is left in a lost shard's outbox into the ledger. The relay would do so too, but what
// a Redis that has gone back has there was mostly settled long ago, and JetStream takes it for a copy for minutes.
func (r *Rebuilder) settleLeftOver(ctx context.Context, c *rain.Campaign, shard int) error {
	for after := ""; ; {
		entries, next, err := r.o.Outbox.Page(ctx, c.ID, shard, after, leftOverAtOnce)
		if err != nil {
			return err
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

// putAside takes outbox entries that cannot be read to the dead letters, as they are: nobody else can do anything with
// them, and a shard is not restored while there are any. Wins that such an entry names, and that Redis still knows, are
// posted first: their seals say whether somebody was told of them.
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
		// Where many like it are kept, the log has to do.
		r.o.Log.Error("an outbox entry cannot be read; it leaves the outbox", "entry", t.Ref.String(), "reason",
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

// clean puts aside what cannot be read at the front of the outboxes of shards that are not lost: all else there goes
// by itself, so what cannot be read comes to the front.
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
