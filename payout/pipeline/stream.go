package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/payout"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// DefaultNamespace is the default prefix of subjects.
const DefaultNamespace = "rr"

const (
	consumerName   = "settle"
	streamMaxAge   = 7 * 24 * time.Hour // JetStream may drop older messages, because the outbox still has their entries
	duplicateSpan  = 2 * time.Minute
	ackWait        = 30 * time.Second
	maxAckPending  = 1 << 16 // a batch that waits for a slow database must not block the others
	manageDeadline = 3 * time.Second
	// readerResets is the number of consecutive resets after which a reader gives up on the stream.
	readerResets = 5
	// readerGone is the idle time after which the server deletes the consumer of a dead reader.
	readerGone = time.Minute
)

// stream leads from the outboxes to the settlement workers. Both ends create it if it is missing.
type stream struct {
	js         jetstream.JetStream
	namespace  string
	seals      payout.Sealer
	restoredAt int64 // when the ledger was last restored from a backup, Unix ms; 0: never

	claims claims

	mu       sync.Mutex
	consumer jetstream.Consumer // nil: to be made
	existing jetstream.Stream   // nil: to be looked up
}

func newStream(js jetstream.JetStream, namespace string, seals payout.Sealer) *stream {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	return &stream{js: js, namespace: namespace, seals: seals}
}

// name is the stream's name: RR_PAYOUT.
func (s *stream) name() string { return strings.ToUpper(s.namespace) + "_PAYOUT" }

// subject returns the subject for the entries of one shard.
func (s *stream) subject(ref rain.EntryRef) string {
	return s.namespace + ".payout." + ref.Campaign + "." + strconv.Itoa(ref.Shard)
}

// entries matches the subjects of all entries.
func (s *stream) entries() string { return s.namespace + ".payout.*.*" }

// probes is the subject of probes. It needs the same rights as those of entries.
func (s *stream) probes() string { return s.namespace + ".payout.probe" }

// campaignOf returns the campaign of a subject, "" if it has none.
func (s *stream) campaignOf(subject string) string {
	rest, _ := strings.CutPrefix(subject, s.namespace+".payout.")
	campaign, _, _ := strings.Cut(rest, ".")
	if rest == subject || !posting.IsCampaignID(campaign) {
		return ""
	}
	return campaign
}

// connected returns an error if NATS is not connected, so callers fail fast.
func (s *stream) connected() error {
	if status := s.js.Conn().Status(); status != nats.CONNECTED {
		return fmt.Errorf("no connection to NATS: %s", status)
	}
	return nil
}

// ensure creates the stream, or updates its settings. It keeps the number of replicas, which the operators choose.
func (s *stream) ensure(ctx context.Context) (jetstream.Stream, error) {
	if err := s.connected(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, manageDeadline)
	defer cancel()
	cfg := jetstream.StreamConfig{
		Name:        s.name(),
		Description: "wins on their way to the ledger",
		Subjects:    []string{s.namespace + ".payout.>"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy, // work-queue retention forgets message ids when it deletes
		MaxAge:      streamMaxAge,
		Duplicates:  duplicateSpan,
		AllowMsgTTL: true, // for probes
	}
	existing, err := s.js.Stream(ctx, cfg.Name)
	making, cancel := unbroken(ctx)
	defer cancel()
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		// Not CreateOrUpdateStream: if both ends create the stream at once, the second may update it while nats-server
		// 2.15 creates its consumer, without a lock. A second CreateStream changes nothing.
		existing, err = s.js.CreateStream(making, cfg)
	case err == nil && !sameStream(existing.CachedInfo().Config, cfg):
		old := existing.CachedInfo().Config
		cfg.Replicas, cfg.Placement = old.Replicas, old.Placement
		existing, err = s.js.UpdateStream(making, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", cfg.Name, err)
	}
	return existing, nil
}

// sameStream reports whether the settings need no update. An update is a vote of the whole NATS cluster, even if it
// changes nothing.
func sameStream(is, want jetstream.StreamConfig) bool {
	return slices.Equal(is.Subjects, want.Subjects) && is.MaxAge == want.MaxAge &&
		is.Duplicates == want.Duplicates && is.AllowMsgTTL == want.AllowMsgTTL &&
		is.AllowDirect == want.AllowDirect // any server would answer, also one that lacks the newest record of an epoch
}

// handle returns the stream, and creates it if it is missing.
func (s *stream) handle(ctx context.Context) (jetstream.Stream, error) {
	if err := s.connected(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	made := s.existing
	s.mu.Unlock()
	if made != nil {
		return made, nil
	}
	made, err := s.ensure(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.existing = made
	s.mu.Unlock()
	return made, nil
}

// unbroken returns a context for a request that creates something. It lasts for manageDeadline or until the deadline
// of ctx, even if ctx is cancelled. An embedded server that shuts down during the creation would leave a partial
// stream.
func unbroken(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(manageDeadline)
	if d, limited := ctx.Deadline(); limited && d.Before(end) {
		end = d
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// puller returns the durable consumer that all settlement workers share. It creates it at the first call, and again
// after forget.
func (s *stream) puller(ctx context.Context) (jetstream.Consumer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.consumer != nil {
		return s.consumer, nil
	}
	made, err := s.ensure(ctx)
	if err != nil {
		return nil, err
	}
	making, cancel := unbroken(ctx)
	defer cancel()
	restored, err := s.beginAgain(making, made)
	if err != nil {
		return nil, err
	}
	s.consumer, err = made.CreateOrUpdateConsumer(making, jetstream.ConsumerConfig{
		Durable:     consumerName,
		Description: fmt.Sprintf(ofRestore, restored),
		// a new consumer starts from the oldest message; the ledger skips posted ones
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxDeliver:    -1,
		MaxAckPending: maxAckPending,
	})
	if err != nil {
		s.consumer = nil
		return nil, fmt.Errorf("consumer %s of %s: %w", consumerName, s.name(), err)
	}
	return s.consumer, nil
}

// ofRestore is the consumer's description. It names the restore of the ledger that the consumer belongs to. NATS
// before 2.10 would drop metadata.
const ofRestore = "settlement workers, of restore %d of the ledger"

// beginAgain deletes a consumer that was made before the ledger was restored from a backup. The restored ledger lacks
// entries that this consumer acknowledged. The next consumer starts from the oldest message. It returns the restore
// time to store. An older node keeps a newer stored time.
func (s *stream) beginAgain(ctx context.Context, made jetstream.Stream) (restored int64, err error) {
	is, err := made.Consumer(ctx, consumerName)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return s.restoredAt, nil
	}
	if err != nil {
		return 0, fmt.Errorf("consumer %s of %s: %w", consumerName, s.name(), err)
	}
	var of int64
	_, _ = fmt.Sscanf(is.CachedInfo().Config.Description, ofRestore, &of) // of stays 0 for any other description
	if of >= s.restoredAt {
		return of, nil
	}
	err = made.DeleteConsumer(ctx, consumerName)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, fmt.Errorf("delete consumer %s of %s after a restore: %w", consumerName, s.name(), err)
	}
	return s.restoredAt, nil
}

// forget makes the next call of puller ask the servers again.
func (s *stream) forget() {
	s.mu.Lock()
	s.consumer = nil
	s.mu.Unlock()
}

// last returns the sequence number of the newest message on a subject, and the state of the stream. The number is 0 if
// there is no message or no stream.
func (s *stream) last(ctx context.Context, subject string) (seq uint64, of jetstream.StreamInfo, err error) {
	if err := s.connected(); err != nil {
		return 0, of, err
	}
	ctx, cancel := context.WithTimeout(ctx, manageDeadline)
	defer cancel()
	made, err := s.js.Stream(ctx, s.name())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, of, nil
	}
	if err != nil {
		return 0, of, err
	}
	of = *made.CachedInfo()
	msg, err := made.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, of, nil
	}
	if err != nil {
		return 0, of, err
	}
	return msg.Sequence, of, nil
}

// read reads messages in order and without gaps.
func (s *stream) read(ctx context.Context, o jetstream.OrderedConsumerConfig) (jetstream.MessagesContext, error) {
	ctx, cancel := context.WithTimeout(ctx, manageDeadline)
	defer cancel()
	o.InactiveThreshold, o.MaxResetAttempts = readerGone, readerResets
	reader, err := s.js.OrderedConsumer(ctx, s.name(), o)
	if err != nil {
		return nil, err
	}
	return reader.Messages()
}

// each calls fn with the messages that a consumer delivers, in order and without gaps, up to a sequence. fn's error
// ends it and is returned.
func (s *stream) each(ctx context.Context, o jetstream.OrderedConsumerConfig, last uint64,
	fn func(msg jetstream.Msg, seq uint64) error) error {
	messages, err := s.read(ctx, o)
	if err != nil {
		return err
	}
	defer messages.Stop()
	for done := false; !done; {
		msg, err := next(ctx, messages)
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		// If the last message has expired, the newest remaining one reports no pending messages.
		done = meta.Sequence.Stream >= last || meta.NumPending == 0
		if err := fn(msg, meta.Sequence.Stream); err != nil {
			return err
		}
	}
	return nil
}
