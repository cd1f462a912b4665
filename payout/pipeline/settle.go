package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"redrain/internal/faults"
	"redrain/internal/loop"
	"redrain/payout"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Poster posts entries to the ledger; [posting.Poster] implements it.
type Poster interface {
	Post(ctx context.Context, entries []rain.Entry) (posting.Posted, error)
	Attempt(ctx context.Context, e rain.Entry, cause error, limit int) (posting.Attempted, error)
	ForgetAttempts(ctx context.Context, refs []rain.EntryRef) error
	RefreshSeals(ctx context.Context) error
	BuryMessage(ctx context.Context, m posting.Message) (kept bool, err error)
}

// Notifier notifies players of settled wins; cluster.Notifier implements it. It removes repeated settlements itself.
// It must not block for long. A lost notification is harmless, because the money is in the ledger.
type Notifier interface {
	Settled(ctx context.Context, settled []posting.Settlement)
}

const (
	partName     = "settlement"     // this part of the process in metrics, alarms and the log
	postGrace    = 5 * time.Second  // for the current batch after Run's context has ended
	postDeadline = 25 * time.Second // below ackWait: after it other workers may get the same messages
)

// worker posts batches and then notifies the players. Only then it removes the entries from their outbox and
// acknowledges the messages. Failed messages are nacked, and dead-lettered after too many tries.
type worker struct {
	ledger    Poster
	outbox    Outbox
	notify    Notifier
	stream    *stream
	report    *report
	attempts  int // tries of an entry before its wins become dead letters
	recoverer *loop.Recoverer
	log       *slog.Logger

	money loop.FailureLog
	redis loop.FailureLog
}

// settleWithin settles a batch until postDeadline. It reports whether the back ends worked.
func (s *worker) settleWithin(ctx context.Context, group []delivery) bool {
	ctx, cancel := loop.Graceful(ctx, postGrace)
	defer cancel()
	ctx, cancelDeadline := context.WithTimeout(ctx, postDeadline)
	defer cancelDeadline()
	return s.postOrSplit(ctx, group)
}

func (s *worker) postOrSplit(ctx context.Context, group []delivery) bool {
	entries := make([]rain.Entry, len(group))
	for i, d := range group {
		entries[i] = d.entry
	}
	posted, err := s.postSafely(ctx, entries)
	if err != nil {
		return s.notPosted(ctx, group, err)
	}
	faults.Point("settle.after_commit")
	s.money.Works()
	s.forgetAttempts(ctx, group)
	// A panic of the notifier stops nothing: the money is in the ledger, and the player's next welcome reports it.
	s.recoverer.Do(partName, func() {
		s.report.posted(posted)
		if len(posted.Settled) > 0 {
			s.notify.Settled(ctx, posted.Settled)
		}
	})
	return s.finish(ctx, group)
}

// postSafely posts entries. It returns a panic as an error.
func (s *worker) postSafely(ctx context.Context, entries []rain.Entry) (posted posting.Posted, err error) {
	err = s.recoverer.Try(partName, func() (err error) {
		posted, err = s.ledger.Post(ctx, entries)
		return err
	})
	return posted, err
}

// mayBePoison reports whether one of the entries, not the database, may have caused the failure.
func mayBePoison(err error) bool { return posting.MayBePoison(err) || errors.Is(err, loop.ErrPanic) }

// notPosted handles a refused batch. If the database is the cause, the batch is nacked and not counted. If an entry
// may be, the batch is halved until that entry is alone, so that the others are posted.
func (s *worker) notPosted(ctx context.Context, group []delivery, err error) bool {
	if !mayBePoison(err) || ctx.Err() != nil {
		return s.failed(&s.money, err, group...)
	}
	if len(group) == 1 {
		return s.refused(ctx, group[0], err)
	}
	s.log.Debug("the ledger refused a batch: posting its halves", "entries", len(group), "err", err)
	half := len(group) / 2
	ok := s.postOrSplit(ctx, group[:half])
	return s.postOrSplit(ctx, group[half:]) && ok
}

// refused handles an entry that the ledger refused alone. The back ends work, so the worker does not pause.
func (s *worker) refused(ctx context.Context, d delivery, cause error) bool {
	tried, err := s.attempt(ctx, d.entry, cause, s.attempts)
	switch {
	case errors.Is(err, loop.ErrPanic): // the wins of the entry are unknown
		return s.panicked(ctx, d, err)
	case err != nil:
		return s.failed(&s.money, errors.Join(cause, err), d)
	}
	s.money.Works()
	s.report.failures.Inc()
	if tried.GivenUp {
		return s.finish(ctx, []delivery{d})
	}
	s.log.Warn("the ledger refused an outbox entry: it is tried again", "entry", d.entry.Ref.String(), "try",
		tried.Attempts, "of", s.attempts, "err", cause)
	nack(retryDelay(tried.Attempts), d)
	return true
}

// attempt counts a refused try of one entry. At try number limit its wins become dead letters. It returns a panic as
// an error.
func (s *worker) attempt(ctx context.Context, e rain.Entry, cause error,
	limit int) (tried posting.Attempted, err error) {
	err = s.recoverer.Try(partName, func() (err error) {
		tried, err = s.ledger.Attempt(ctx, e, cause, limit)
		return err
	})
	s.report.dead(tried.Dead)
	return tried, err
}

// panicked handles a message that makes this program panic: its last delivery makes it a dead letter. An entry in it
// stays in its outbox, because its wins are unknown.
func (s *worker) panicked(ctx context.Context, d delivery, cause error) bool {
	if n := d.deliveries(); n < s.attempts {
		s.log.Warn("a message of the payout stream cannot be settled: it is tried again", "subject",
			d.msg.Subject(), "try", n, "of", s.attempts, "err", cause)
		s.retry(d)
		return true
	}
	return s.deadLetter(ctx, d, cause)
}

// unreadable handles a message that cannot be decoded or has an invalid seal. If its entry is in an outbox, the relay
// publishes it again with a valid seal.
func (s *worker) unreadable(ctx context.Context, d delivery, cause error) {
	if errors.Is(cause, loop.ErrPanic) {
		s.panicked(ctx, d, cause)
		return
	}
	s.deadLetter(ctx, d, cause)
}

// deadLetter keeps a message that cannot be settled as a dead letter, and acknowledges it.
func (s *worker) deadLetter(ctx context.Context, d delivery, cause error) bool {
	ctx, cancel := loop.Graceful(ctx, postGrace)
	defer cancel()
	m := posting.Message{
		Name:     "message-" + booking.Digest(slices.Concat([]byte(d.msg.Subject()), []byte{0}, d.msg.Data())),
		Campaign: s.stream.campaignOf(d.msg.Subject()), Payload: d.msg.Data(), Reason: cause.Error(),
	}
	kept, err := s.ledger.BuryMessage(ctx, m)
	if err != nil {
		return s.failed(&s.money, err, d)
	}
	letters, discarded := []posting.DeadLetter{m.Letter()}, 0
	if !kept {
		letters, discarded = nil, 1
	}
	switch {
	case errors.Is(cause, payout.ErrSeal):
		s.report.notSealed(Forged{Letters: letters, Discarded: discarded})
	case kept:
		s.report.dead(letters)
	default:
		s.log.Warn("a message of the payout stream cannot be settled: it is dropped, many like it are kept",
			"subject", d.msg.Subject(), "reason", m.Reason)
	}
	_ = d.msg.Ack() // if the connection loses it, the message comes again
	return true
}

// forgetAttempts drops the counts of refused tries after a success. A failure is harmless.
func (s *worker) forgetAttempts(ctx context.Context, group []delivery) {
	var again []rain.EntryRef
	for _, d := range group {
		if d.deliveries() > 1 {
			again = append(again, d.entry.Ref)
		}
	}
	if len(again) == 0 {
		return
	}
	if err := s.ledger.ForgetAttempts(ctx, again); err != nil {
		s.log.Debug("drop the counts of tries of settled entries", "err", err)
	}
}

// finish removes a posted batch from the outboxes, and then acknowledges its messages.
func (s *worker) finish(ctx context.Context, group []delivery) bool {
	refs := make([]rain.EntryRef, len(group))
	for i, d := range group {
		refs[i] = d.entry.Ref
	}
	faults.Point("settle.before_remove")
	if err := s.outbox.Remove(ctx, refs); err != nil {
		return s.failed(&s.redis, err, group...)
	}
	s.redis.Works()
	faults.Point("settle.before_ack")
	for _, d := range group {
		_ = d.msg.Ack() // if the connection loses it, the message comes again and is found to be posted
	}
	return true
}

// failed logs the failure of a back end, nacks the messages, and returns false.
func (s *worker) failed(o *loop.FailureLog, err error, group ...delivery) bool {
	o.Failed(err)
	s.retry(group...)
	return false
}

// retry counts messages as failed and nacks them, with a longer delay each time.
func (s *worker) retry(group ...delivery) {
	s.report.failures.Add(float64(len(group)))
	for _, d := range group {
		nack(retryDelay(d.deliveries()), d)
	}
}
