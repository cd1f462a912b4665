package ledger

import (
	"context"
	"sync"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// Answers remembers what requests were answered with.
type Answers struct {
	db    *sqldb.DB
	clock rain.Clock

	mu        sync.Mutex
	nextPrune int64 // when expired keys are removed again, Unix ms
}

const (
	answerKept   = 24 * 3_600_000 // milliseconds that an answer is remembered
	requestLease = 60_000         // milliseconds after which a request that has not ended counts as lost
	pruneEvery   = 10 * 60_000    // milliseconds between two removals of what has expired
)

// Answer is what a request was answered with.
type Answer struct {
	Status int // HTTP status
	Body   []byte
}

// answerRow is a row of the table idempotency.
type answerRow struct {
	Answer

	key, hash string // of the key, and of the request's body
	expires   int64  // Unix ms
}

var answerTable = sqldb.NewTable("idempotency", func(a *answerRow) []any {
	return []any{"idem_key", &a.key, "body_hash", &a.hash, "status", &a.Status, "answer", &a.Body,
		"expires_at", &a.expires}
})

// replacing has a row take the place of the one with its key.
var replacing = sqldb.Merge{Key: answerTable.Columns()[:1], Set: answerTable.Columns()[1:]}

// Begin registers a request under its idempotency key, or finds that it was answered before: then the answer is not nil
// and the request must not be carried out again. The key belongs to the caller's choice of scope, so it should hold
// the method, the path and who asks. The errors are ErrIdempotencyUnequal where the key came with another body,
// and ErrIdempotencyBusy where the same request is being worked on.
//
// After Begin comes either Finish or Forget. Where neither does, because the process died, the key is free again
// after a minute, also where it was dated further ahead by hand or by a wrong clock.
func (s *Answers) Begin(ctx context.Context, key string, body []byte) (answer *Answer, err error) {
	if err := s.prune(ctx); err != nil {
		return nil, err
	}
	hash := booking.Digest(body)
	now := s.clock()
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		answer = nil
		fresh := answerRow{Answer{Body: []byte{}}, booking.Digest([]byte(key)), hash, now + requestLease}
		found, exists, err := answerTable.Find(ctx, tx, "WHERE idem_key = ?"+tx.ForUpdate(), fresh.key)
		switch {
		case err != nil:
			return err
		case !exists:
			return booking.AgainIfDuplicate(answerTable.Insert(ctx, tx, sqldb.Merge{}, fresh))
		// By the clock of after the read: whoever has waited for the row finds one that is younger than the wait.
		case found.expires <= now,
			found.Status == 0 && found.expires > s.clock()+requestLease+leaseSlack.Milliseconds():
			return answerTable.Insert(ctx, tx, replacing, fresh)
		case found.hash != hash:
			return ErrIdempotencyUnequal
		case found.Status == 0:
			return ErrIdempotencyBusy
		}
		answer = &found.Answer
		return nil
	})
	return answer, sqldb.Wrap(err, "idempotency key")
}

// Finish remembers the answer of a request that Begin has registered, for 24 hours.
func (s *Answers) Finish(ctx context.Context, key string, a Answer) error {
	body := a.Body
	if body == nil {
		body = []byte{}
	}
	return s.exec(ctx, "UPDATE idempotency SET status = ?, answer = ?, expires_at = ? WHERE idem_key = ?",
		a.Status, body, s.clock()+answerKept, booking.Digest([]byte(key)))
}

// Forget frees the key of a request that has failed: only successes are remembered.
func (s *Answers) Forget(ctx context.Context, key string) error {
	return s.exec(ctx, "DELETE FROM idempotency WHERE idem_key = ? AND status = 0", booking.Digest([]byte(key)))
}

// remember keeps, for 24 hours, what something was answered with that has a key of its own in the ledger: in the
// transaction that does it, so that no answer is lost or is there without what it tells of.
func remember(ctx context.Context, tx *sqldb.Tx, key string, body []byte, now int64) error {
	return answerTable.Insert(ctx, tx, replacing, answerRow{key: booking.Digest([]byte(key)),
		hash: booking.Digest(body), Answer: Answer{Status: 201, Body: body}, expires: now + answerKept})
}

// recall is what was remembered; nil where that is too long ago.
func recall(ctx context.Context, tx *sqldb.Tx, key string, now int64) (body []byte, err error) {
	_, err = tx.First(ctx, []any{&body}, "SELECT answer FROM idempotency WHERE idem_key = ? AND expires_at > ?",
		booking.Digest([]byte(key)), now)
	return body, err
}

// prune removes what has expired, once in a while.
func (s *Answers) prune(ctx context.Context) error {
	now := s.clock()
	s.mu.Lock()
	due := now >= s.nextPrune
	if due {
		s.nextPrune = now + pruneEvery
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	return s.exec(ctx, "DELETE FROM idempotency WHERE expires_at < ?", now)
}

func (s *Answers) exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.db.Exec(ctx, statement, args...)
	return sqldb.Wrap(err, "idempotency key")
}
