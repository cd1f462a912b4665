package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/nats-io/nats.go"
)

// AdvisoryKind is what JetStream has done with a message on the way to the ledger.
type AdvisoryKind string

// The kinds, by the names of their alarms. redrain sets no limit of deliveries and terminates no message, so each of
// them means that another client has changed the consumer or used it.
const (
	MaxDeliveries     AdvisoryKind = "max_deliveries"     // given up: it is not delivered any more
	MessageTerminated AdvisoryKind = "message_terminated" // taken out of sight by a consumer
)

// Advisory is what JetStream says about a message that it will not deliver again. The outbox still has the entry,
// if it was one and is not in the ledger: the relay publishes it again.
type Advisory struct {
	Kind       AdvisoryKind `json:"-"`
	Stream     string       `json:"stream"`
	Consumer   string       `json:"consumer"`
	StreamSeq  uint64       `json:"stream_seq"` // the message's place in the stream
	Deliveries uint64       `json:"deliveries"`
	Reason     string       `json:"reason"` // "" where none was given
}

// The subjects are nats-server's JSAdvisoryConsumerMaxDeliveryExceedPre and JSAdvisoryConsumerMsgTerminatedPre,
// followed by the names of the stream and the consumer.
var advisorySubjects = map[AdvisoryKind]string{
	MaxDeliveries:     "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.",
	MessageTerminated: "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.",
}

// advisories hears the advisories of one kind until ctx ends. All settlers are one queue group: each advisory is heard
// by one.
func (s *stream) advisories(ctx context.Context, kind AdvisoryKind, log *slog.Logger, hear func(Advisory)) {
	subject := advisorySubjects[kind] + s.name() + "." + consumerName
	sub, err := s.js.Conn().QueueSubscribeSync(subject, s.name()+"_settlers")
	if err != nil {
		if ctx.Err() == nil {
			log.Error("JetStream's advisories cannot be heard", "subject", subject, "err", err)
		}
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection has gone, if this fails
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrSlowConsumer):
			log.Warn("some of JetStream's advisories were missed", "subject", subject)
			continue
		case err != nil:
			return // the end, or the connection was closed for good
		}
		a := Advisory{Kind: kind}
		if err := json.Unmarshal(m.Data, &a); err != nil {
			log.Warn("an advisory of JetStream cannot be read", "subject", subject, "err", err)
			continue
		}
		hear(a)
	}
}
