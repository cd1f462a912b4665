package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/loop"
	"redrain/internal/seal"
	"redrain/payout"
	"redrain/rain"
)

const (
	publishAtOnce  = 256             // messages of one caller in flight to JetStream
	publishTimeout = 2 * time.Second // for the acknowledgement of one message
	// publishPending bounds the messages of all callers that wait for their acknowledgement.
	publishPending = 32 * publishAtOnce
)

// Publisher puts sealed outbox entries into the stream. It is safe for concurrent use.
type Publisher struct {
	stream *stream
	burst  jetstream.JetStream // publishes without waiting for each acknowledgement
	log    *slog.Logger
}

// NewPublisher makes a publisher on the connection of js. It seals messages with seals. namespace is the prefix of
// subjects and of the stream's name. It defaults to DefaultNamespace, log to slog.Default.
func NewPublisher(js jetstream.JetStream, namespace string, seals payout.Sealer,
	log *slog.Logger) (*Publisher, error) {
	if log == nil {
		log = slog.Default()
	}
	// Each message is acknowledged, or fails, within publishTimeout.
	burst, err := jetstream.New(js.Conn(), jetstream.WithPublishAsyncTimeout(publishTimeout),
		jetstream.WithPublishAsyncMaxPending(publishPending))
	if err != nil {
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	return &Publisher{stream: newStream(js, namespace, seals), burst: burst, log: log}, nil
}

// Publish puts one entry into the stream. It returns nil when JetStream has acknowledged the entry: from then on a
// loss of Redis cannot lose it. It retries until ctx ends, and creates a missing stream. It works on every node, even
// if no relay runs there.
//
// The entry stays in its outbox until it is in the ledger. If that takes long, the relay publishes it again.
func (p *Publisher) Publish(ctx context.Context, e rain.Entry) error {
	m := p.message(e)
	for try := 0; ; try++ {
		err := p.publishNow(ctx, m)
		if err == nil {
			return nil
		}
		if errors.Is(err, nats.ErrMaxPayload) || !loop.Sleep(ctx,
			loop.Backoff(20*time.Millisecond, 500*time.Millisecond, try)) {
			return err
		}
		if _, making := p.stream.ensure(ctx); making != nil && ctx.Err() != nil {
			return fmt.Errorf("%w; %w", err, making)
		}
	}
}

func (p *Publisher) publishNow(ctx context.Context, m message) error {
	if err := p.stream.connected(); err != nil {
		return err
	}
	msg, how := p.newMsg(m)
	_, err := p.stream.js.PublishMsg(ctx, msg, how...)
	return m.notPublished(err)
}

// message is an entry, encoded for the stream.
type message struct {
	ref  rain.EntryRef
	data []byte
	id   string // JetStream drops a second message with the same id
}

// message encodes and seals an entry. The seal is a part of the id, so a forged message with an entry's name cannot
// keep the entry out.
func (p *Publisher) message(e rain.Entry) message {
	data := payout.SealMessage(p.stream.seals, payout.EncodeEntry(e))
	return message{e.Ref, data, e.Ref.String() + " " + string(data[:seal.Size])}
}

// newMsg builds the client's message, which may be sent once. JetStream drops duplicates by the id, and rejects the
// message if another stream owns the subject.
func (p *Publisher) newMsg(m message) (*nats.Msg, []jetstream.PublishOpt) {
	return &nats.Msg{Subject: p.stream.subject(m.ref), Data: m.data},
		[]jetstream.PublishOpt{jetstream.WithMsgID(m.id), jetstream.WithExpectStream(p.stream.name())}
}

func (m message) notPublished(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("publish %s: %w", m.ref, err)
}

// publishAll publishes messages concurrently and returns those that JetStream has not acknowledged.
func (p *Publisher) publishAll(ctx context.Context, messages []message) (failed []message, err error) {
	if err := p.stream.connected(); err != nil {
		return messages, err
	}
	for len(messages) > 0 {
		n := min(len(messages), publishAtOnce)
		answers := make([]jetstream.PubAckFuture, n)
		errs := make([]error, n)
		for i, m := range messages[:n] {
			msg, how := p.newMsg(m)
			answers[i], errs[i] = p.burst.PublishMsgAsync(msg, how...)
		}
		for i, m := range messages[:n] {
			if errs[i] == nil {
				errs[i] = answered(ctx, answers[i])
			}
			switch {
			case errors.Is(errs[i], nats.ErrMaxPayload):
				// A retry is no use and must not delay the others. The entry stays in the outbox.
				p.log.Error("an outbox entry exceeds NATS's max_payload: raise it to 1 MB", "entry",
					m.ref.String(), "err", errs[i])
			case errs[i] != nil:
				failed, err = append(failed, m), m.notPublished(errs[i])
			}
		}
		messages = messages[n:]
		if err != nil {
			return append(failed, messages...), err // we stop here, because the next messages would time out too
		}
	}
	return failed, nil
}

// answered waits for the acknowledgement of one message.
func answered(ctx context.Context, answer jetstream.PubAckFuture) error {
	select {
	case <-answer.Ok():
		return nil
	case err := <-answer.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
