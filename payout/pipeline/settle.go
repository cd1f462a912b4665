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

// Poster brings entries into the ledger; [posting.Poster] does.
type Poster interface {
	Post(ctx context.Context, entries []rain.Entry) (posting.Posted, error)
	Attempt(ctx context.Context, e rain.Entry, cause error, limit int) (posting.Attempted, error)
	ForgetAttempts(ctx context.Context, refs []rain.EntryRef) error
	RefreshSeals(ctx context.Context) error
	BuryMessage(ctx context.Context, m posting.Message) (kept bool, err error)
}

const (
	partName     = "settlement"     // this part of the process in metrics, alarms and the log
	postGrace    = 5 * time.Second  // for the batch in hand when Run is to end
	postDeadline = 25 * time.Second // below ackWait: after it others may have the same messages
)

// settlement posts batches and does what follows: it tells the players, and only then removes the entries from their
// outbox and acknowledges their messages. What fails is given back, and what fails too often is put aside.
type settlement struct {
	ledger    Poster
	outbox    Outbox
	notify    Notifier
	stream    *stream
	report    *report
	attempts  int // tries of an entry before it is put aside
	recoverer *loop.Recoverer
	log       *slog.Logger

	money loop.FailureLog
	redis loop.FailureLog
}

// settle settles a batch. It tells whether the back ends worked.
func (s *settlement) settle(ctx context.Context, group []delivery) bool {
	ctx, cancel := loop.Graceful(ctx, postGrace)
	defer cancel()
	ctx, cancelDeadline := context.WithTimeout(ctx, postDeadline)
	defer cancelDeadline()
	return s.post(ctx, group)
}

func (s *settlement) post(ctx context.Context, group []delivery) bool {
	entries := make([]rain.Entry, len(group))
	for i, d := range group {
		entries[i] = d.entry
	}
	posted, err := s.try(ctx, entries)
	if err != nil {
		return s.notPosted(ctx, group, err)
	}
	faults.Point("settle.after_commit")
	s.money.Works()
	s.forgetAttempts(ctx, group)
	// A panic of who is told holds nothing up: the money is in the ledger, and the player's next welcome says so.
	s.recoverer.Do(partName, func() {
		s.report.posted(posted)
		if len(posted.Settled) > 0 {
			s.notify.Settled(ctx, posted.Settled)
		}
	})
	return s.finish(ctx, group)
}

// try posts entries. A panic is an error.
func (s *settlement) try(ctx context.Context, entries []rain.Entry) (posted posting.Posted, err error) {
	err = s.recoverer.Try(partName, func() (err error) {
		posted, err = s.ledger.Post(ctx, entries)
		return err
	})
	return posted, err
}

// mayBePoison tells whether a try has failed because of what was posted.
func mayBePoison(err error) bool { return posting.MayBePoison(err) || errors.Is(err, loop.ErrPanic) }

// notPosted deals with a batch that was refused. Where the database is to blame it is given back, and nothing is
// counted; where one of the entries may be, the batch is halved until that one is alone, so that it does not take
// the others with it.
func (s *settlement) notPosted(ctx context.Context, group []delivery, err error) bool {
	if !mayBePoison(err) || ctx.Err() != nil {
		return s.failed(&s.money, err, group...)
	}
	if len(group) == 1 {
		return s.refused(ctx, group[0], err)
	}
	s.log.Debug("a batch was refused; posting its halves", "entries", len(group), "err", err)
	half := len(group) / 2
	ok := s.post(ctx, group[:half])
	return s.post(ctx, group[half:]) && ok
}

// refused deals with an entry that the ledger has refused by itself. The back ends work, so this is no reason for the
// worker to pause.
func (s *settlement) refused(ctx context.Context, d delivery, cause error) bool {
	tried, err := s.attempt(ctx, d.entry, cause, s.attempts)
	switch {
	case errors.Is(err, loop.ErrPanic): // then nobody can say what of the entry is to be put aside
		return s.panicked(ctx, d, err)
	case err != nil:
		return s.failed(&s.money, errors.Join(cause, err), d)
	}
	s.money.Works()
	s.report.failures.Inc()
	if tried.GivenUp {
		return s.finish(ctx, []delivery{d})
	}
	s.log.Warn("the ledger refuses an outbox entry; it is tried again", "entry", d.entry.Ref.String(), "try",
		tried.Attempts, "of", s.attempts, "err", cause)
	giveBack(retryDelay(tried.Attempts), d)
	return true
}

// attempt counts a try of an entry that the ledger has refused by itself, and gives it up with try number limit. A
// panic is an error.
func (s *settlement) attempt(ctx context.Context, e rain.Entry, cause error,
	limit int) (tried posting.Attempted, err error) {
	err = s.recoverer.Try(partName, func() (err error) {
		tried, err = s.ledger.Attempt(ctx, e, cause, limit)
		return err
	})
	s.report.dead(tried.Dead)
	return tried, err
}

// panicked deals with a message over which this program breaks whatever it does with it: with its last delivery it is
// buried. An entry in it stays in its outbox, because nothing is known of its wins.
func (s *settlement) panicked(ctx context.Context, d delivery, cause error) bool {
	if n := d.deliveries(); n < s.attempts {
		s.log.Warn("a message of the payout stream cannot be settled; it is tried again", "subject",
			d.msg.Subject(), "try", n, "of", s.attempts, "err", cause)
		s.retry(d)
		return true
	}
	return s.bury(ctx, d, cause)
}

// unreadable deals with a message over which decoding breaks, that is no entry, or that nobody of this installation has
// written. What is in the outbox is published again by the relay, sealed with a key that is good.
func (s *settlement) unreadable(ctx context.Context, d delivery, cause error) {
	if errors.Is(cause, loop.ErrPanic) {
		s.panicked(ctx, d, cause)
		return
	}
	s.bury(ctx, d, cause)
}

// bury keeps a message that nobody can settle as a dead letter, and takes it out of the stream's sight.
func (s *settlement) bury(ctx context.Context, d delivery, cause error) bool {
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
	letters, dropped := []posting.DeadLetter{m.Letter()}, 0
	if !kept {
		letters, dropped = nil, 1
	}
	switch {
	case errors.Is(cause, payout.ErrSeal):
		s.report.notSealed(Forged{Letters: letters, Dropped: dropped})
	case kept:
		s.report.dead(letters)
	default:
		s.log.Warn("a message of the payout stream is dropped: it cannot be settled, and many like it are kept",
			"subject", d.msg.Subject(), "reason", m.Reason)
	}
	_ = d.msg.Ack() // lost with the connection at worst: then it comes again
	return true
}

// forgetAttempts drops the count of what was refused before and is in the ledger now. Where that fails, the count
// is of no harm.
func (s *settlement) forgetAttempts(ctx context.Context, group []delivery) {
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
		s.log.Debug("the tries of settled entries are still counted", "err", err)
	}
}

// finish takes a batch, of which the ledger has everything, out of the outboxes and then out of the stream.
func (s *settlement) finish(ctx context.Context, group []delivery) bool {
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
		_ = d.msg.Ack() // lost with the connection at worst: then it comes again, and is found to be posted
	}
	return true
}

// failed gives messages back because a back end does not work, and is false.
func (s *settlement) failed(o *loop.FailureLog, err error, group ...delivery) bool {
	o.Failed(err)
	s.retry(group...)
	return false
}

// retry counts messages as failed, and gives each back for another try, later each time.
func (s *settlement) retry(group ...delivery) {
	s.report.failures.Add(float64(len(group)))
	for _, d := range group {
		giveBack(retryDelay(d.deliveries()), d)
	}
}
