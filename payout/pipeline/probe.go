package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// probeKept is the time after which the server deletes a probe. A server before NATS 2.11 keeps it for streamMaxAge.
const probeKept = 10 * time.Second

// Probe returns nil if the stream stores a message and acknowledges it. It creates a missing stream. Settlement ignores
// probes.
//
// A connection that answers proves less. A server whose disk was full, or a user without the right to publish here,
// answers and stores nothing.
func (p *Publisher) Probe(ctx context.Context) error {
	if err := p.stream.connected(); err != nil {
		return err
	}
	err := p.probe(ctx)
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		if _, err := p.stream.ensure(ctx); err != nil {
			return err
		}
		err = p.probe(ctx)
	}
	if err != nil {
		return fmt.Errorf("publish a probe to stream %s: %w", p.stream.name(), err)
	}
	return nil
}

// LeastPayload is the least max_payload of a NATS server, in bytes. A larger entry could not be published.
const LeastPayload = 1 << 20

// Stream returns the stream as it is. It returns jetstream.ErrStreamNotFound until a node has created it.
func (p *Publisher) Stream(ctx context.Context) (jetstream.Stream, error) {
	return p.stream.js.Stream(ctx, p.stream.name())
}

func (p *Publisher) probe(ctx context.Context) error {
	_, err := p.stream.js.PublishMsg(ctx, &nats.Msg{Subject: p.stream.probes()},
		jetstream.WithExpectStream(p.stream.name()), jetstream.WithMsgTTL(probeKept))
	return err
}

// Made returns the time at which the stream was made, which names it: a lost stream is made again. Made creates a
// missing stream.
func (p *Publisher) Made(ctx context.Context) (string, error) {
	existing, err := p.stream.ensure(ctx)
	if err != nil {
		return "", err
	}
	return existing.CachedInfo().Created.UTC().Format(time.RFC3339Nano), nil
}

// Check returns nil if this node can receive messages of the stream to settle them. It creates a missing stream and a
// missing consumer.
func (s *Settler) Check(ctx context.Context) error {
	consumer, err := s.stream.puller(ctx)
	if err != nil {
		return err
	}
	if _, err := consumer.Info(ctx); err != nil {
		return fmt.Errorf("consumer %s of %s: %w", consumerName, s.stream.name(), err)
	}
	return nil
}

// OldestUnsettled returns the time of the oldest message that no settlement worker has acknowledged, Unix ms; 0 if
// there is none. It works on every node.
func (s *Settler) OldestUnsettled(ctx context.Context) (int64, error) {
	at, err := s.stream.oldest(ctx)
	if err != nil {
		return 0, fmt.Errorf("find the oldest message of stream %s: %w", s.stream.name(), err)
	}
	return at, nil
}

func (s *stream) oldest(ctx context.Context) (int64, error) {
	if err := s.connected(); err != nil {
		return 0, err
	}
	made, err := s.js.Stream(ctx, s.name())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var acknowledged uint64 // all messages up to this one
	consumer, err := made.Consumer(ctx, consumerName)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound): // no node has settled yet
	case err != nil:
		return 0, err
	default:
		info := consumer.CachedInfo()
		if info.NumPending == 0 && info.NumAckPending == 0 {
			return 0, nil
		}
		acknowledged = info.AckFloor.Stream
	}
	msg, err := made.GetMsg(ctx, acknowledged+1, jetstream.WithGetMsgSubject(s.entries()))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return msg.Time.UnixMilli(), nil
}
