package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/rain"
)

// catchUpPatience is the longest wait for the stream's next message. After it, the stream counts as unreachable.
const catchUpPatience = 10 * time.Second

// CatchUp posts all messages of one shard that the stream holds at this moment. It is for a shard that Redis has lost
// (see package posting): the ledger must have every entry that JetStream acknowledged before. The settlement workers
// get the same messages later, and they notify the players. CatchUp leaves invalid messages to them. If the stream
// does not exist, it returns nil.
//
// It reads page by page. It works on every node, even if Run does not run there.
func (s *Settler) CatchUp(ctx context.Context, campaign string, shard int) error {
	if err := s.catchUp(ctx, s.stream.subject(rain.EntryRef{Campaign: campaign, Shard: shard})); err != nil {
		return fmt.Errorf("post the messages of shard %d of campaign %s in the stream: %w", shard, campaign, err)
	}
	return nil
}

// PostNow posts entries that do not come through the stream, under the same rules as CatchUp. It is for the entries
// in the outbox of a shard that is being rebuilt.
func (s *Settler) PostNow(ctx context.Context, entries []rain.Entry) error {
	return s.worker.postOrDeadLetter(ctx, entries)
}

func (s *Settler) catchUp(ctx context.Context, subject string) error {
	last, _, err := s.stream.last(ctx, subject)
	if err != nil || last == 0 {
		return err
	}
	if err := s.stream.claims.refresh(ctx, s.stream); err != nil {
		return err
	}
	// Another node may have sealed with a key that this node has not loaded yet. A key is in the database before its
	// first use, so the keys of all messages in the stream can be loaded now.
	if err := s.worker.ledger.RefreshSeals(ctx); err != nil {
		return err
	}
	var page []rain.Entry
	wins, most := 0, min(firstWins, s.o.BatchWins)
	post := func() error {
		if len(page) == 0 {
			return nil
		}
		err := s.worker.postOrDeadLetter(ctx, page)
		page, wins = page[:0], 0
		return err
	}
	err = s.stream.each(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject},
		DeliverPolicy: jetstream.DeliverAllPolicy}, last, func(msg jetstream.Msg, seq uint64) error {
		e, err := s.stream.decode(msg)
		if err != nil || s.stream.claims.isOver(e.Ref.Campaign, e.Ref.Shard, e.Epoch, seq) {
			return nil //nolint:nilerr // the settlement workers handle it
		}
		page = append(page, e)
		if wins += max(len(e.Wins), 1); wins < most {
			return nil
		}
		return post()
	})
	if err != nil {
		return err
	}
	return post()
}

// postOrDeadLetter posts entries. If the ledger refuses an entry, its wins become dead letters at once, because it
// must not stop the rebuilding of its shard. The fence voids wins that are in no table by then.
func (s *worker) postOrDeadLetter(ctx context.Context, entries []rain.Entry) error {
	posted, err := s.postSafely(ctx, entries)
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
	if err := s.postOrDeadLetter(ctx, entries[:half]); err != nil {
		return err
	}
	return s.postOrDeadLetter(ctx, entries[half:])
}

// next waits for a message, at most catchUpPatience.
func next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, catchUpPatience)
	defer cancel()
	return messages.Next(jetstream.NextContext(ctx))
}
