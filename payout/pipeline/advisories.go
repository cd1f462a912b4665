package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/nats-io/nats.go"
)

// AdvisoryKind is the reason why JetStream delivers a message no more.
type AdvisoryKind string

// The kinds, by the names of their alarms. redrain sets no limit of deliveries and terminates no message, so each of
// them means that another client has changed the consumer or used it.
const (
	MaxDeliveries     AdvisoryKind = "max_deliveries"     // given up: it is not delivered any more
	MessageTerminated AdvisoryKind = "message_terminated" // taken out of sight by a consumer
)

// Advisory is JetStream's notice of a message that it will not deliver again. If the message was an entry, the outbox
// still has it, and the relay publishes it again.
type Advisory struct {
	Kind       AdvisoryKind `json:"-"`
	Stream     string       `json:"stream"`
	Consumer   string       `json:"consumer"`
	StreamSeq  uint64       `json:"stream_seq"` // the message's place in the stream
	Deliveries uint64       `json:"deliveries"`
	Reason     string       `json:"reason"` // may be empty
}

// The subjects are nats-server's JSAdvisoryConsumerMaxDeliveryExceedPre and JSAdvisoryConsumerMsgTerminatedPre,
// followed by the names of the stream and the consumer.
var advisorySubjects = map[AdvisoryKind]string{
	MaxDeliveries:     "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.",
	MessageTerminated: "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.",
}

// advisories receives the advisories of one kind until ctx ends. All settlers are one queue group: one of them gets
// each advisory.
func (s *stream) advisories(ctx context.Context, kind AdvisoryKind, log *slog.Logger, hear func(Advisory)) {
	subject := advisorySubjects[kind] + s.name() + "." + consumerName
	sub, err := s.js.Conn().QueueSubscribeSync(subject, s.name()+"_settlers")
	if err != nil {
		if ctx.Err() == nil {
			log.Error("subscribe to JetStream's advisories", "subject", subject, "err", err)
		}
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection has gone, if this fails
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrSlowConsumer):
			log.Warn("JetStream's advisories: some were missed", "subject", subject)
			continue
		case err != nil:
			return // ctx ended, or the connection was closed for good
		}
		a := Advisory{Kind: kind}
		if err := json.Unmarshal(m.Data, &a); err != nil {
			log.Warn("decode an advisory of JetStream", "subject", subject, "err", err)
			continue
		}
		hear(a)
	}
}
