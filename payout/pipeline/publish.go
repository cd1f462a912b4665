package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/rounds"
	"redrain/payout/entrytext"
	"redrain/rain"
)

// Publish puts one entry into the stream, and returns nil when JetStream has acknowledged it: from then on the
// stream has it, whatever becomes of Redis. It tries until ctx ends, and makes the stream where it is missing. It
// works on every node, also where Run does not.
//
// The entry stays in its outbox until it is in the ledger, and is published again if that takes long, like every other.
func (r *Relay) Publish(ctx context.Context, e rain.Entry) error {
	for try := 0; ; try++ {
		err := r.publishNow(ctx, e)
		if err == nil {
			r.fresh.add(e.Ref)
			return nil
		}
		if errors.Is(err, nats.ErrMaxPayload) || !rounds.Sleep(ctx, rounds.Backoff(20*time.Millisecond, 500*time.Millisecond, try)) {
			return err
		}
		if _, making := r.stream.ensure(ctx); making != nil && ctx.Err() != nil {
			return fmt.Errorf("%w; %w", err, making)
		}
	}
}

func (r *Relay) publishNow(ctx context.Context, e rain.Entry) error {
	if err := r.stream.connected(); err != nil {
		return err
	}
	msg, err := r.message(e)
	if err != nil {
		return err
	}
	_, err = r.stream.js.PublishMsg(ctx, msg, r.identity(e)...)
	return notPublished(e, err)
}

// message is an entry as it travels.
func (r *Relay) message(e rain.Entry) (*nats.Msg, error) {
	data, err := entrytext.Encode(e)
	if err != nil {
		return nil, fmt.Errorf("entry %s: %w", e.Ref, err)
	}
	return &nats.Msg{Subject: r.stream.subject(e.Ref), Data: data}, nil
}

// identity lets JetStream know a copy, and refuse what is not meant for it.
func (r *Relay) identity(e rain.Entry) []jetstream.PublishOpt {
	return []jetstream.PublishOpt{jetstream.WithMsgID(e.Ref.String()), jetstream.WithExpectStream(r.stream.name())}
}

func notPublished(e rain.Entry, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("publishing %s: %w", e.Ref, err)
}

// newPublisher is for many messages at once. Each is answered, or failed, within publishTimeout; so at most all
// that the workers have under way waits for an answer.
func newPublisher(nc *nats.Conn, workers int) (jetstream.JetStream, error) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncTimeout(publishTimeout),
		jetstream.WithPublishAsyncMaxPending((workers+1)*publishAtOnce))
	if err != nil {
		return nil, fmt.Errorf("opening JetStream: %w", err)
	}
	return js, nil
}

// publishOnce publishes entries side by side and returns those that JetStream has not acknowledged.
func (r *Relay) publishOnce(ctx context.Context, entries []rain.Entry) (failed []rain.Entry, err error) {
	if err := r.stream.connected(); err != nil {
		return entries, err
	}
	for len(entries) > 0 {
		n := min(len(entries), publishAtOnce)
		answers := make([]jetstream.PubAckFuture, n)
		errs := make([]error, n)
		for i, e := range entries[:n] {
			answers[i], errs[i] = r.send(e)
		}
		for i, e := range entries[:n] {
			if errs[i] == nil {
				errs[i] = answered(ctx, answers[i])
			}
			switch {
			case errors.Is(errs[i], nats.ErrMaxPayload):
				// Trying again is no use, and must not hold up the others. It stays in the outbox.
				r.o.Log.Error("an outbox entry is larger than NATS takes: raise max_payload to 1 MB", "entry",
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

func (r *Relay) send(e rain.Entry) (jetstream.PubAckFuture, error) {
	msg, err := r.message(e)
	if err != nil {
		return nil, err
	}
	return r.js.PublishMsgAsync(msg, r.identity(e)...)
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
