package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/rain"
)

// The epochs of shards are messages in the stream of their entries, because the order of both decides which entries
// count (see package confirm). A record is not sealed: a seal would become invalid with the second change of its key.
// A program that writes to NATS can hold up wins with false records, as it could by deleting the stream. A false record
// pays nothing.

// clocksMargin is more than the difference of the clocks of Redis and NATS, and longer than a publication takes.
const clocksMargin = time.Minute

// epochSubject returns the subject of the records of one shard.
func (s *stream) epochSubject(campaign string, shard int) string {
	return s.subject(rain.EntryRef{Campaign: campaign, Shard: shard}) + ".epoch"
}

// allEpochs matches the subjects of all records.
func (s *stream) allEpochs() string { return s.namespace + ".payout.*.*.epoch" }

// isEpoch reports whether a subject is that of the records of a shard.
func isEpoch(subject string) bool { return strings.HasSuffix(subject, ".epoch") }

// encodeRecord returns a record's text: "<number> <holder> <moves> <from>".
func encodeRecord(r rain.Epoch) []byte {
	return fmt.Appendf(nil, "%d %s %d %d", r.Number, r.Holder, r.Moves, r.From)
}

// errRecord means that a record of an epoch cannot be parsed.
var errRecord = errors.New("invalid record of an epoch")

// decodeRecord is the inverse of encodeRecord.
func decodeRecord(data []byte, seq uint64) (r rain.Epoch, err error) {
	f := strings.Split(string(data), " ")
	if len(f) != 4 || f[1] == "" {
		return r, errRecord
	}
	var ok1, ok2 bool
	r.Holder, r.Seq = f[1], seq
	r.Number, ok1 = rain.ParseInt(f[0])
	r.Moves, ok2 = rain.ParseInt(f[2])
	r.From, err = strconv.ParseUint(f[3], 10, 64)
	if !ok1 || !ok2 || err != nil || r.Number == 0 {
		return r, errRecord
	}
	return r, nil
}

// Record implements confirm.Publisher. The leader of the stream answers, so the record is the newest.
func (p *Publisher) Record(ctx context.Context, campaign string, shard int) (rain.Epoch, error) {
	r, err := p.record(ctx, campaign, shard)
	if err != nil {
		return r, fmt.Errorf("read the epoch of shard %d of campaign %s: %w", shard, campaign, err)
	}
	return r, nil
}

func (p *Publisher) record(ctx context.Context, campaign string, shard int) (none rain.Epoch, err error) {
	made, err := p.stream.handle(ctx)
	if err != nil {
		return none, err
	}
	msg, err := made.GetLastMsgForSubject(ctx, p.stream.epochSubject(campaign, shard))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return none, nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		_, err := p.stream.ensure(ctx) // a lost stream is empty
		return none, err
	case err != nil:
		return none, err
	}
	r, err := decodeRecord(msg.Data, msg.Sequence)
	if r.IsRebuild() {
		r.From = r.Seq // the rebuild has decided about everything before
	}
	return r, err
}

// Claim implements confirm.Publisher.
func (p *Publisher) Claim(ctx context.Context, campaign string, shard int, after uint64, r rain.Epoch) (
	rain.Epoch, error) {
	if err := p.stream.connected(); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	ack, err := p.stream.js.PublishMsg(ctx, &nats.Msg{Subject: p.stream.epochSubject(campaign, shard),
		Data: encodeRecord(r)}, jetstream.WithExpectStream(p.stream.name()),
		jetstream.WithExpectLastSequencePerSubject(after))
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok &&
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return r, rain.ErrEpochClaimed
	}
	if err != nil {
		return r, fmt.Errorf("claim the epoch of shard %d of campaign %s: %w", shard, campaign, err)
	}
	if r.Seq = ack.Sequence; r.IsRebuild() {
		r.From = r.Seq
	}
	return r, nil
}

// Newest implements confirm.Publisher. A message is stored after its entry was written. So behind the time of any
// entry, the stream has all entries with higher ids.
func (p *Publisher) Newest(ctx context.Context, campaign string, shard int, behind uint64,
	fn func(rain.Entry) error) error {
	s := p.stream
	subject := s.subject(rain.EntryRef{Campaign: campaign, Shard: shard})
	made, err := s.handle(ctx)
	if err != nil {
		return err
	}
	last, err := made.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && last.Sequence <= behind {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.claims.refresh(ctx, s); err != nil {
		return err
	}
	from := last.Time
	if e, err := s.open(last.Data, subject); err == nil {
		ms, _, _ := e.Ref.Position() // open has checked it
		from = earlier(from, time.UnixMilli(ms))
	}
	from = from.Add(-clocksMargin)
	return s.each(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject},
		DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &from}, last.Sequence,
		func(msg jetstream.Msg, seq uint64) error {
			e, err := s.open(msg.Data(), subject)
			if err != nil || seq <= behind || s.claims.isOver(e.Ref.Campaign, e.Ref.Shard, e.Epoch, seq) {
				return nil //nolint:nilerr // the settlement workers handle invalid messages
			}
			return fn(e)
		})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// claims caches when the epochs of shards began in the stream. It is safe for concurrent use.
type claims struct {
	mu      sync.Mutex
	created time.Time // of the stream
	seen    uint64    // all records up to this sequence are known
	began   map[string][]began
}

// began is the first record of an epoch.
type began struct {
	number int64
	seq    uint64
}

// isOver reports whether a message of a shard, published under an epoch, came behind the claim of a newer one. No such
// message has confirmed a win. A message without an epoch is of a mode without epochs, and always counts.
func (c *claims) isOver(campaign string, shard int, epoch int64, seq uint64) bool {
	if epoch == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.began[claimKey(campaign, shard)] {
		if b.number > epoch && b.seq < seq {
			return true
		}
	}
	return false
}

func claimKey(campaign string, shard int) string { return campaign + "." + strconv.Itoa(shard) }

// refresh reads the records that the stream has got since the last call. After it, all records that precede a message
// of this stream are known, if the caller had the message before the call.
func (c *claims) refresh(ctx context.Context, s *stream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, of, err := s.last(ctx, s.allEpochs())
	if err != nil {
		return fmt.Errorf("read the epochs of the shards: %w", err)
	}
	if !of.Created.Equal(c.created) { // the first call, or the stream was lost
		c.created, c.seen, c.began = of.Created, 0, map[string][]began{}
	}
	// Without its records, a shard's numbers begin anew.
	for key, known := range c.began {
		if known[len(known)-1].seq < of.State.FirstSeq {
			delete(c.began, key)
		}
	}
	if last <= c.seen {
		return nil
	}
	err = s.each(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{s.allEpochs()},
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: c.seen + 1}, last,
		func(msg jetstream.Msg, seq uint64) error {
			key := strings.TrimSuffix(strings.TrimPrefix(msg.Subject(), s.namespace+".payout."), ".epoch")
			r, err := decodeRecord(msg.Data(), seq)
			known := c.began[key]
			if err != nil || len(known) > 0 && known[len(known)-1].number >= r.Number {
				return nil //nolint:nilerr // another program has written it
			}
			c.began[key] = append(known, began{r.Number, seq})
			return nil
		})
	if err != nil {
		return fmt.Errorf("read the epochs of the shards: %w", err)
	}
	c.seen = last
	return nil
}
