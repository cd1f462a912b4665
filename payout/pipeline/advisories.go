package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// AdvisoryKind is what JetStream has done with a message on the way to the ledger.
type AdvisoryKind string

// The kinds, by the names of their alarms. redrain sets no limit of deliveries, so the first means that somebody
// has changed the consumer, and the second that somebody else has terminated one: what a settler buries is told as a
// dead letter, once.
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
		if !s.buried(a) {
			hear(a)
		}
	}
}

// burial is the reason that a settler gives when it takes a buried message out of JetStream's sight. It is sealed, so
// that nobody else can take a message out of sight without a word.
func (s *stream) burial(m jetstream.Msg) string {
	meta, err := m.Metadata()
	if err != nil {
		return buriedText
	}
	text := burialOf(meta.Sequence.Stream)
	return text + " " + string(s.seals.AppendMessage(nil, []byte(text)))
}

// buried tells whether an advisory is of a message that a settler has buried.
func (s *stream) buried(a Advisory) bool {
	text := burialOf(a.StreamSeq)
	mark, ok := strings.CutPrefix(a.Reason, text+" ")
	return ok && a.Kind == MessageTerminated && s.seals.CheckMessage([]byte(mark), []byte(text))
}

// buriedText begins the reason of a burial.
const buriedText = "dealt with as a dead letter"

// burialOf is the reason of a burial, without its seal.
func burialOf(seq uint64) string { return buriedText + ": message " + strconv.FormatUint(seq, 10) }
