package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/timeout"
)

// The limits of a request's body, in bytes. The complete body is held in memory.
const (
	maxBody       = 16 << 20 // operators: a list of a million amounts fits
	maxPlayerBody = 4 << 10  // players, as for their messages: there are many players, and any client may be one
)

// readBody reads the complete body of a request.
func (q *request) readBody() ([]byte, error) {
	limit := int64(maxBody)
	if q.user != "" || q.role == "" {
		limit = maxPlayerBody
	}
	data, err := io.ReadAll(http.MaxBytesReader(q.w, q.Body, limit))
	if err != nil {
		return nil, bodyFault(err, limit)
	}
	return data, nil
}

// bodyFault returns the answer for a body that cannot be read.
func bodyFault(err error, limit int64) error {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		return refuse(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("a body has at most %d bytes", limit))
	case errors.Is(err, os.ErrDeadlineExceeded): // package sockets sets it
		return refuse(http.StatusRequestTimeout, "too_slow", "the request body timed out")
	default:
		return refuse(http.StatusBadRequest, "malformed", "the body could not be read")
	}
}

// bodyOf reads a request's body, a JSON object, into what already holds the defaults.
func bodyOf[T any](q *request, in T) (T, error) {
	body, err := q.readBody()
	if err == nil {
		err = decode(body, &in)
	}
	return in, err
}

// faults collects the faults of a request.
type faults rain.Invalid

// check adds a fault unless ok is true.
func (f *faults) check(ok bool, field, format string, args ...any) {
	if !ok {
		*f = append(*f, rain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// checkErr adds a fault if there is an error.
func (f *faults) checkErr(err error, field, before string) {
	if err != nil {
		f.check(false, field, "%s%s", before, err)
	}
}

// checkAmount checks an amount of money.
func (f *faults) checkAmount(amount rain.Money) {
	f.check(amount >= 1 && amount <= rain.MaxBudget, "amount",
		"is required: minor units, above zero and at most ten trillion yuan")
}

// err returns all faults, or nil.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return rain.Invalid(f)
}

// maxIdempotencyKey is the length limit of an Idempotency-Key, in bytes.
const maxIdempotencyKey = 200

// once makes a creation answer the same key with its first answer. Only successes are stored: a failed request may be
// sent again under its key. The keys are those of a path and of one player, or of all operators.
func (a *API) once(create handler) handler {
	return func(q *request) (any, error) {
		key := q.Header.Get("Idempotency-Key")
		if key == "" {
			return create(q)
		}
		if len(key) > maxIdempotencyKey {
			return nil, invalid("Idempotency-Key", "is at most %d bytes", maxIdempotencyKey)
		}
		body, err := q.readBody()
		if err != nil {
			return nil, err
		}
		q.Body, q.key = io.NopCloser(bytes.NewReader(body)), digest(q.Method, q.URL.Path, key, q.user)
		first, err := a.o.Answers.Begin(q.Context(), q.key, bytes.TrimSpace(body))
		if err != nil {
			return nil, err
		}
		if first != nil {
			return reply{first.Status, json.RawMessage(first.Body)}, nil
		}
		v, failed := create(q)
		// Detached: even if the client is gone, the answer must be stored or the key freed.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(q.Context()), timeout.Backend)
		defer cancel()
		if failed != nil {
			if err := a.o.Answers.Forget(ctx, q.key); err != nil {
				a.o.Log.WarnContext(ctx, "free an idempotency key; it stays taken for a minute", "path", q.URL.Path,
					"err", err)
			}
			return nil, failed
		}
		answer := replyOf(v)
		body = encode(answer.body)
		if err := a.o.Answers.Finish(ctx, q.key, ledger.Answer{Status: answer.status, Body: body}); err != nil {
			// The answer is valid all the same; a repeated request finds the object by its id.
			a.o.Log.WarnContext(ctx, "store the answer of an idempotency key", "path", q.URL.Path, "err", err)
		}
		return reply{answer.status, json.RawMessage(body)}, nil
	}
}

// digest returns a fixed-length name for some strings.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
