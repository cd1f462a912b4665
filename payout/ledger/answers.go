package ledger

import (
	"context"
	"sync"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// Answers stores the answers of requests by idempotency key.
type Answers struct {
	db    *sqldb.DB
	clock rain.Clock

	mu        sync.Mutex
	nextPrune int64 // time of the next removal of expired keys, Unix ms
}

const (
	answerKept   = 24 * 3_600_000 // milliseconds that an answer is kept
	requestLease = 60_000         // milliseconds after which an unfinished request counts as lost
	pruneEvery   = 10 * 60_000    // milliseconds between two removals of expired keys
)

// Answer is the stored answer of a request.
type Answer struct {
	Status int // HTTP status
	Body   []byte
}

type answerRow struct {
	Answer

	key, hash string // of the key, and of the request's body
	expires   int64  // Unix ms
}

var answerTable = sqldb.NewTable("idempotency", func(a *answerRow) []any {
	return []any{"idem_key", &a.key, "body_hash", &a.hash, "status", &a.Status, "answer", &a.Body,
		"expires_at", &a.expires}
})

var replacing = sqldb.Merge{Key: answerTable.Columns()[:1], Set: answerTable.Columns()[1:]}

// Begin registers a request under its idempotency key. If the request was answered before, it returns that answer,
// and the caller must not carry the request out again. key should contain the method, the path and the caller's
// credential. The errors are ErrIdempotencyUnequal if the key came with another body, and ErrIdempotencyBusy if the
// same request is in progress.
//
// After Begin comes either Finish or Forget. If the process dies before, the key is free again after a minute. A key
// with a later expiry (wrong clock, tampered row) is free at once.
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
		// The clock after the read: a caller that waited for the row finds a row that is younger than the wait.
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

// Finish stores the answer of a request that Begin has registered, for 24 hours.
func (s *Answers) Finish(ctx context.Context, key string, a Answer) error {
	return s.exec(ctx, "UPDATE idempotency SET status = ?, answer = ?, expires_at = ? WHERE idem_key = ?",
		a.Status, append([]byte{}, a.Body...), s.clock()+answerKept, booking.Digest([]byte(key)))
}

// Forget frees the key of a failed request: only successes are stored.
func (s *Answers) Forget(ctx context.Context, key string) error {
	return s.exec(ctx, "DELETE FROM idempotency WHERE idem_key = ? AND status = 0", booking.Digest([]byte(key)))
}

// remember stores an answer under a key for 24 hours, in the transaction of the change.
func remember(ctx context.Context, tx *sqldb.Tx, key string, body []byte, now int64) error {
	return answerTable.Insert(ctx, tx, replacing, answerRow{key: booking.Digest([]byte(key)),
		hash: booking.Digest(body), Answer: Answer{Status: 201, Body: body}, expires: now + answerKept})
}

// recall returns a stored answer, or nil if it has expired.
func recall(ctx context.Context, tx *sqldb.Tx, key string, now int64) (body []byte, err error) {
	_, err = tx.First(ctx, []any{&body}, "SELECT answer FROM idempotency WHERE idem_key = ? AND expires_at > ?",
		booking.Digest([]byte(key)), now)
	return body, err
}

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
