package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/rain"
)

// catchUpPatience is how long the stream may take to give the next message before it counts as away.
const catchUpPatience = 10 * time.Second

// CatchUp posts everything that the stream holds of one shard at this moment, so that the ledger knows what JetStream
// had acknowledged before. It is for a shard that Redis has lost, see package posting. What it posts comes to the
// settlement workers all the same, and they tell the players. A message that is no entry is left to them. A stream
// that does not exist has nothing.
//
// It reads page by page. It works on every node, also where Run does not.
func (s *Settler) CatchUp(ctx context.Context, campaign string, shard int) error {
	if err := s.catchUp(ctx, s.stream.subject(rain.EntryRef{Campaign: campaign, Shard: shard})); err != nil {
		return fmt.Errorf("posting what the stream has of shard %d of campaign %s: %w", shard, campaign, err)
	}
	return nil
}

// PostNow posts entries that do not come through the stream, each on the same terms. It is for what is left in the
// outbox of a shard that is to be rebuilt.
func (s *Settler) PostNow(ctx context.Context, entries []rain.Entry) error {
	return s.settlement.postOrBury(ctx, entries)
}

func (s *Settler) catchUp(ctx context.Context, subject string) error {
	last, err := s.stream.last(ctx, subject)
	if err != nil || last == 0 {
		return err
	}
	// Another node may have sealed with a key that is not known here yet. A key is in the database before anything is
	// sealed with it, and what is to be read is in the stream: so all of its keys are there to be read now.
	if err := s.settlement.ledger.RefreshSeals(ctx); err != nil {
		return err
	}
	messages, err := s.stream.read(ctx, subject)
	if err != nil {
		return err
	}
	defer messages.Stop()
	var page []rain.Entry
	wins, most := 0, newBatchSizer(s.o.BatchWins).now()
	for done := false; !done; {
		msg, err := next(ctx, messages)
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		// The last one may have been removed by age meanwhile; then the one before it has none behind it.
		done = meta.Sequence.Stream >= last || meta.NumPending == 0
		if e, err := s.stream.decode(msg); err == nil {
			page = append(page, e)
			wins += max(len(e.Wins), 1)
		}
		if wins >= most || (done && len(page) > 0) {
			if err := s.settlement.postOrBury(ctx, page); err != nil {
				return err
			}
			page, wins = page[:0], 0
		}
	}
	return nil
}

// postOrBury posts entries. One that the ledger refuses becomes dead letters at its first try: it must not keep the
// others of its shard from being rebuilt, and of what is in no table by then the fence says that it is void.
func (s *settlement) postOrBury(ctx context.Context, entries []rain.Entry) error {
	posted, err := s.try(ctx, entries)
	switch {
	case err == nil:
		s.report.posted(posted)
		return nil
	case !mayBePoison(err) || ctx.Err() != nil:
		return err
	case len(entries) == 1:
		_, err := s.attempt(ctx, entries[0], err, 1)
		return err
	}
	half := len(entries) / 2
	if err := s.postOrBury(ctx, entries[:half]); err != nil {
		return err
	}
	return s.postOrBury(ctx, entries[half:])
}

// next waits for a message, but not for ever.
func next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, catchUpPatience)
	defer cancel()
	return messages.Next(jetstream.NextContext(ctx))
}
