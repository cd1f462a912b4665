package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

const (
	// catchUpPatience is how long the stream may take to give the next message before it counts as away.
	catchUpPatience = 10 * time.Second
	// catchUpResets is how often in a row the reader may be made anew before the stream counts as away.
	catchUpResets = 5
	// catchUpGone is after which time without a word the server forgets a reader that died.
	catchUpGone = time.Minute
)

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

func (s *Settler) catchUp(ctx context.Context, subject string) error {
	last, err := s.stream.last(ctx, subject)
	if err != nil || last == 0 {
		return err
	}
	messages, err := s.stream.read(ctx, subject)
	if err != nil {
		return err
	}
	defer messages.Stop()
	var page []rain.Entry
	wins := 0
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
		if e, fault := s.decode(msg); fault == "" {
			page = append(page, e)
			wins += max(len(e.Wins), 1)
		}
		if wins >= s.o.BatchWins || (done && len(page) > 0) {
			if err := s.postOrBury(ctx, page); err != nil {
				return err
			}
			page, wins = page[:0], 0
		}
	}
	return nil
}

// postOrBury posts entries. One that the ledger refuses becomes dead letters at its first try: it must not keep the
// others of its shard from being rebuilt, and of what is in no table by then the fence says that it is void.
func (s *Settler) postOrBury(ctx context.Context, entries []rain.Entry) error {
	posted, err := s.ledger.Post(ctx, entries)
	switch {
	case err == nil:
		s.observe(posted)
		return nil
	case !posting.MayBePoison(err) || ctx.Err() != nil:
		return err
	case len(entries) == 1:
		tried, failed := s.ledger.Attempt(ctx, entries[0], err, 1)
		s.buried(tried.Dead)
		return failed
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

// last is the sequence number of the newest message on a subject, 0 where there is none, or no stream.
func (s *stream) last(ctx context.Context, subject string) (uint64, error) {
	if err := s.connected(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, manageDeadline)
	defer cancel()
	made, err := s.js.Stream(ctx, s.name())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	msg, err := made.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return msg.Sequence, nil
}

// read reads a subject from its oldest message on, in order and without a gap.
func (s *stream) read(ctx context.Context, subject string) (jetstream.MessagesContext, error) {
	ctx, cancel := context.WithTimeout(ctx, manageDeadline)
	defer cancel()
	reader, err := s.js.OrderedConsumer(ctx, s.name(), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverAllPolicy, InactiveThreshold: catchUpGone,
		MaxResetAttempts: catchUpResets,
	})
	if err != nil {
		return nil, err
	}
	return reader.Messages()
}
