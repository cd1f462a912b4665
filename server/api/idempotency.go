package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/timeout"
)

// maxIdempotencyKey is the length limit of an Idempotency-Key, in bytes.
const maxIdempotencyKey = 200

// creation is a handler of a POST that creates something. It gets the body whole and the request's idempotency key
// ("" without one), and returns the status and the answer.
type creation func(r *http.Request, who caller, body []byte, key string) (status int, answer any, err error)

// once makes a creation answer the same key with its first answer. Only successes are remembered: a request that failed
// may be sent again under its key.
func (a *API) once(create creation) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		body, err := readBody(w, r, who)
		if err != nil {
			return err
		}
		key := r.Header.Get("Idempotency-Key")
		if len(key) > maxIdempotencyKey {
			return rain.Invalid{{Field: "Idempotency-Key",
				Message: fmt.Sprintf("is at most %d bytes", maxIdempotencyKey)}}
		}
		if key == "" {
			status, answer, err := create(r, who, body, "")
			if err != nil {
				return err
			}
			WriteJSON(w, status, answer)
			return nil
		}
		return a.createOnce(w, r, who, body, scope(r, who, key), create)
	}
}

func (a *API) createOnce(w http.ResponseWriter, r *http.Request, who caller, body []byte, key string,
	create creation) error {
	first, err := a.o.Answers.Begin(r.Context(), key, bytes.TrimSpace(body))
	if err != nil {
		return err
	}
	if first != nil {
		writeRaw(w, first.Status, first.Body)
		return nil
	}
	status, answer, failed := create(r, who, body, key)
	// Detached: the answer must be remembered, or the key freed, also where the client has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), timeout.Backend)
	defer cancel()
	if failed != nil {
		if err := a.o.Answers.Forget(ctx, key); err != nil {
			a.o.Log.Warn("an idempotency key stays taken for a minute", "path", r.URL.Path, "err", err)
		}
		return failed
	}
	encoded := encode(answer)
	if err := a.o.Answers.Finish(ctx, key, ledger.Answer{Status: status, Body: encoded}); err != nil {
		// The answer stands all the same; a repetition finds what was made by its id.
		a.o.Log.Warn("an idempotency key could not be remembered", "path", r.URL.Path, "err", err)
	}
	writeRaw(w, status, encoded)
	return nil
}

// scope is what an idempotency key stands for: one request of one player, or of the operators, who share theirs. All
// players use the same paths under /me, and the same keys if they like.
func scope(r *http.Request, who caller, key string) string {
	if who.user == "" {
		return digest(r.Method, r.URL.Path, key)
	}
	return digest(r.Method, r.URL.Path, key, who.user)
}

// digest is a fixed-length name for some strings.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
