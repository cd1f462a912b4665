package pipeline

import (
	"context"
	"errors"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// notPosted deals with a batch that was refused. Where the database is to blame it is given back, and nothing is
// counted; where one of the entries may be, the batch is halved until that one is alone, so that it does not take
// the others with it.
func (s *Settler) notPosted(ctx context.Context, group []delivery, err error) bool {
	if !posting.MayBePoison(err) || ctx.Err() != nil {
		s.failed(group, &s.money, err)
		return false
	}
	if len(group) == 1 {
		return s.refused(ctx, group, err)
	}
	s.o.Log.Debug("a batch was refused; posting its halves", "entries", len(group), "err", err)
	half := len(group) / 2
	ok := s.post(ctx, group[:half])
	return s.post(ctx, group[half:]) && ok
}

// refused deals with an entry that the ledger has refused by itself: the try is counted, and with the last one the
// entry is given up. The back ends work, so this is no reason for the worker to pause.
func (s *Settler) refused(ctx context.Context, group []delivery, cause error) bool {
	entry := group[0].entry
	tried, err := s.ledger.Attempt(ctx, entry, cause, s.o.Attempts)
	if err != nil {
		s.failed(group, &s.money, errors.Join(cause, err))
		return false
	}
	s.money.Works()
	s.failures.Inc()
	if !tried.GivenUp {
		s.o.Log.Warn("the ledger refuses an outbox entry; it is tried again", "entry", entry.Ref.String(), "try",
			tried.Attempts, "of", s.o.Attempts, "err", cause)
		s.giveBack(group, retryDelay(tried.Attempts))
		return true
	}
	s.buried(tried.Dead)
	return s.finish(ctx, group)
}

// forgetAttempts drops the count of what was refused before and is in the ledger now. Where that fails, the count
// is of no harm.
func (s *Settler) forgetAttempts(ctx context.Context, group []delivery) {
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
		s.o.Log.Debug("the tries of settled entries are still counted", "err", err)
	}
}
