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

// DefaultNamespace is the prefix of subjects where none is given.
const DefaultNamespace = "rr"

const (
	consumerName   = "settle"
	streamMaxAge   = 7 * 24 * time.Hour // only a second home: the outbox entry stays until it is in the ledger
	duplicateSpan  = 2 * time.Minute
	ackWait        = 30 * time.Second
	maxAckPending  = 1 << 16 // a batch that waits for a sick database must not keep the others out
	manageDeadline = 3 * time.Second
	// readerResets is how often in a row a reader may be made anew before the stream counts as away.
	readerResets = 5
	// readerGone is after which time without a word the server forgets a reader that died.
	readerGone = time.Minute
)

// stream is the way from the outboxes to the settlement workers. Both ends make it, and make it again when the
// servers have lost it: who comes first does.
type stream struct {
	js        jetstream.JetStream
	namespace string
	seals     payout.Sealer
	restored  int64 // when the ledger was last put back from a backup, Unix ms; 0: never

	mu       sync.Mutex
	consumer jetstream.Consumer // nil: to be made
}

func newStream(js jetstream.JetStream, namespace string, seals payout.Sealer) *stream {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	return &stream{js: js, namespace: namespace, seals: seals}
}

// name is the stream's name: RR_PAYOUT.
func (s *stream) name() string { return strings.ToUpper(s.namespace) + "_PAYOUT" }

// subject is where the entries of one shard travel.
func (s *stream) subject(ref rain.EntryRef) string {
	return s.namespace + ".payout." + ref.Campaign + "." + strconv.Itoa(ref.Shard)
}

// campaignOf is the campaign that a subject is of, "" where it is none's.
func (s *stream) campaignOf(subject string) string {
	rest, _ := strings.CutPrefix(subject, s.namespace+".payout.")
	campaign, _, _ := strings.Cut(rest, ".")
	if rest == subject || !posting.IsCampaignID(campaign) {
		return ""
	}
	return campaign
}

// connected fails where a request would only wait for its deadline.
func (s *stream) connected() error {
	if status := s.js.Conn().Status(); status != nats.CONNECTED {
		return fmt.Errorf("no connection to NATS: %s", status)
	}
	return nil
}

// ensure makes the stream, or brings its settings up to date. The number of replicas is the operators' choice and is
// left as it is.
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
	}
	existing, err := s.js.Stream(ctx, cfg.Name)
	making, cancel := unbroken(ctx)
	defer cancel()
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		// Not CreateOrUpdateStream: another end may make it at the same time, and what finds it made would update
		// it, in nats-server 2.15 without the lock under which the consumer is made. To make the same again changes
		// nothing.
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

// sameStream tells whether there is nothing to update: an update is a vote of the whole NATS cluster, even if it
// changes nothing.
func sameStream(is, want jetstream.StreamConfig) bool {
	return slices.Equal(is.Subjects, want.Subjects) && is.MaxAge == want.MaxAge && is.Duplicates == want.Duplicates
}

// unbroken is for a request that makes something: once sent it is waited for, for manageDeadline or until the
// deadline of ctx, also where ctx is cancelled. A server in this process that is shut down while it makes a stream
// would leave half of it running.
func unbroken(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(manageDeadline)
	if d, limited := ctx.Deadline(); limited && d.Before(end) {
		end = d
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// puller is the durable consumer that all settlement workers share. It is made at the first call, and again after
// forget.
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
		// a consumer that was lost begins again; the ledger knows what it has
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

// ofRestore is the description of the consumer, which keeps after which restore of the ledger it was made. (Metadata
// would be the place, but NATS before 2.10 forgets them.)
const ofRestore = "settlement workers, of restore %d of the ledger"

// beginAgain takes a consumer away that was made before the ledger was put back from a backup: what it has settled
// since the backup is in no ledger any more. The next one begins with the oldest message. It returns the restore that
// the consumer is to be of: a node that was started before it leaves a newer one alone.
func (s *stream) beginAgain(ctx context.Context, made jetstream.Stream) (restored int64, err error) {
	is, err := made.Consumer(ctx, consumerName)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return s.restored, nil
	}
	if err != nil {
		return 0, fmt.Errorf("consumer %s of %s: %w", consumerName, s.name(), err)
	}
	var of int64
	_, _ = fmt.Sscanf(is.CachedInfo().Config.Description, ofRestore, &of) // who else made it says nothing, which is 0
	if of >= s.restored {
		return of, nil
	}
	err = made.DeleteConsumer(ctx, consumerName)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, fmt.Errorf("consumer %s of %s, which is to begin again: %w", consumerName, s.name(), err)
	}
	return s.restored, nil
}

// forget makes the next puller look at the servers again.
func (s *stream) forget() {
	s.mu.Lock()
	s.consumer = nil
	s.mu.Unlock()
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
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverAllPolicy, InactiveThreshold: readerGone,
		MaxResetAttempts: readerResets,
	})
	if err != nil {
		return nil, err
	}
	return reader.Messages()
}
