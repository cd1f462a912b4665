package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/rounds"
	"redrain/internal/seal"
	"redrain/payout/entrytext"
	"redrain/rain"
)

const (
	publishAtOnce  = 256             // messages of one caller on their way to JetStream
	publishTimeout = 2 * time.Second // for the acknowledgement of one message
	// publishPending bounds the messages of all callers that wait for their acknowledgement.
	publishPending = 32 * publishAtOnce
	// freshFor is how long it is remembered that Publish has put an entry into the stream.
	freshFor = 5 * time.Second
)

// Publisher puts outbox entries into the stream. It is safe for concurrent use.
type Publisher struct {
	stream *stream
	burst  jetstream.JetStream // publishes without waiting for one answer after the other
	fresh  *recent             // what Publish has put into the stream a moment ago
	log    *slog.Logger
}

// NewPublisher makes a publisher on the connection of js, which seals what it publishes. namespace is the prefix of
// subjects and of the stream's name; "" = DefaultNamespace. log nil = slog.Default.
func NewPublisher(js jetstream.JetStream, namespace string, seals entrytext.Sealer,
	log *slog.Logger) (*Publisher, error) {
	if log == nil {
		log = slog.Default()
	}
	// Each message is answered, or fails, within publishTimeout.
	burst, err := jetstream.New(js.Conn(), jetstream.WithPublishAsyncTimeout(publishTimeout),
		jetstream.WithPublishAsyncMaxPending(publishPending))
	if err != nil {
		return nil, fmt.Errorf("opening JetStream: %w", err)
	}
	return &Publisher{stream: newStream(js, namespace, seals), burst: burst, fresh: newRecent(freshFor), log: log}, nil
}

// Publish puts one entry into the stream, and returns nil when JetStream has acknowledged it: from then on the
// stream has it, whatever becomes of Redis. It tries until ctx ends, and makes the stream where it is missing. It
// works on every node, also where no relay runs.
//
// The entry stays in its outbox until it is in the ledger, and is published again if that takes long, like every other.
func (p *Publisher) Publish(ctx context.Context, e rain.Entry) error {
	for try := 0; ; try++ {
		err := p.publishNow(ctx, e)
		if err == nil {
			p.fresh.add(e.Ref)
			return nil
		}
		if errors.Is(err, nats.ErrMaxPayload) || !rounds.Sleep(ctx,
			rounds.Backoff(20*time.Millisecond, 500*time.Millisecond, try)) {
			return err
		}
		if _, making := p.stream.ensure(ctx); making != nil && ctx.Err() != nil {
			return fmt.Errorf("%w; %w", err, making)
		}
	}
}

func (p *Publisher) publishNow(ctx context.Context, e rain.Entry) error {
	if err := p.stream.connected(); err != nil {
		return err
	}
	msg := p.message(e)
	_, err := p.stream.js.PublishMsg(ctx, msg, p.identity(e, msg)...)
	return notPublished(e, err)
}

// message is an entry as it travels.
func (p *Publisher) message(e rain.Entry) *nats.Msg {
	return &nats.Msg{Subject: p.stream.subject(e.Ref), Data: entrytext.Seal(p.stream.seals, entrytext.Encode(e))}
}

// identity lets JetStream know a copy, and refuse what is not meant for it. The seal is a part of it: whoever publishes
// something else under an entry's name does not keep the entry out.
func (p *Publisher) identity(e rain.Entry, msg *nats.Msg) []jetstream.PublishOpt {
	return []jetstream.PublishOpt{
		jetstream.WithMsgID(e.Ref.String() + " " + string(msg.Data[:seal.Size])),
		jetstream.WithExpectStream(p.stream.name()),
	}
}

func notPublished(e rain.Entry, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("publishing %s: %w", e.Ref, err)
}

// publishAll publishes entries side by side and returns those that JetStream has not acknowledged.
func (p *Publisher) publishAll(ctx context.Context, entries []rain.Entry) (failed []rain.Entry, err error) {
	if err := p.stream.connected(); err != nil {
		return entries, err
	}
	for len(entries) > 0 {
		n := min(len(entries), publishAtOnce)
		answers := make([]jetstream.PubAckFuture, n)
		errs := make([]error, n)
		for i, e := range entries[:n] {
			answers[i], errs[i] = p.send(e)
		}
		for i, e := range entries[:n] {
			if errs[i] == nil {
				errs[i] = answered(ctx, answers[i])
			}
			switch {
			case errors.Is(errs[i], nats.ErrMaxPayload):
				// Trying again is no use, and must not hold up the others. It stays in the outbox.
				p.log.Error("an outbox entry is larger than NATS takes: raise max_payload to 1 MB", "entry",
					e.Ref.String(), "err", errs[i])
			case errs[i] != nil:
				failed, err = append(failed, e), notPublished(e, errs[i])
			}
		}
		entries = entries[n:]
		if err != nil {
			return append(failed, entries...), err // the others would only wait as long
		}
	}
	return failed, nil
}

func (p *Publisher) send(e rain.Entry) (jetstream.PubAckFuture, error) {
	msg := p.message(e)
	return p.burst.PublishMsgAsync(msg, p.identity(e, msg)...)
}

// answered waits for JetStream's word on one message.
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
