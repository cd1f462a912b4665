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
	"slices"
	"strconv"
	"strings"

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
func readBody(w http.ResponseWriter, r *http.Request, who caller) ([]byte, error) {
	limit := int64(maxBody)
	if who.user != "" || who.role == "" {
		limit = maxPlayerBody
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refuse(http.StatusRequestEntityTooLarge, "too_large",
			fmt.Sprintf("a body has at most %d bytes", limit))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // package sockets sets it
		return nil, refuse(http.StatusRequestTimeout, "too_slow", "the request body timed out")
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "malformed", "the body could not be read")
	}
	return data, nil
}

// bodyOf reads a request's body, a JSON object, into what already holds the defaults.
func bodyOf[T any](w http.ResponseWriter, r *http.Request, who caller, in T) (T, error) {
	body, err := readBody(w, r, who)
	if err == nil {
		err = decode(body, &in)
	}
	return in, err
}

// decode reads a JSON object into what already holds the defaults. An empty body is an empty object. A field that does
// not exist is a fault: with money, a misspelt limit must not become the default.
func decode(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return refuse(http.StatusBadRequest, "malformed", "the body holds more than one JSON value")
		}
		return nil
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field == "" {
			return refuse(http.StatusBadRequest, "malformed", "the body is not a JSON object")
		}
		return rain.Invalid{{Field: jsonPath(kind.Field), Message: "is not " + wanted(kind.Type.Kind().String())}}
	}
	// encoding/json has no type for this error.
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name, _ := strconv.Unquote(field)
		return rain.Invalid{{Field: name, Message: "is not a field of this request"}}
	}
	return refuse(http.StatusBadRequest, "malformed", "the body is not JSON")
}

// jsonPath returns the path of a json.UnmarshalTypeError without embedded structs, whose Go names encoding/json puts
// into it: "Settings.beat_ms" is beat_ms. The API's own names are lower case.
func jsonPath(field string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(field, "."), func(name string) bool {
		return name != strings.ToLower(name)
	}), ".")
}

// wanted returns the JSON name of a Go kind.
func wanted(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "an integer in range"
	case kind == "string":
		return "a string"
	case kind == "slice":
		return "a list"
	case kind == "bool":
		return "true or false"
	default:
		return "of the right kind"
	}
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

// creation is a handler of a POST that creates an object. It gets the complete body and the idempotency key ("" without
// one), and returns the status and the answer.
type creation func(r *http.Request, who caller, body []byte, key string) (status int, answer any, err error)

// once makes a creation answer the same key with its first answer. Only successes are stored: a failed request may be
// sent again under its key.
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
	// Detached: even if the client is gone, the answer must be stored or the key freed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), timeout.Backend)
	defer cancel()
	if failed != nil {
		if err := a.o.Answers.Forget(ctx, key); err != nil {
			a.o.Log.Warn("free an idempotency key; it stays taken for a minute", "path", r.URL.Path, "err", err)
		}
		return failed
	}
	encoded := encode(answer)
	if err := a.o.Answers.Finish(ctx, key, ledger.Answer{Status: status, Body: encoded}); err != nil {
		// The answer is valid all the same; a repeated request finds the object by its id.
		a.o.Log.Warn("store the answer of an idempotency key", "path", r.URL.Path, "err", err)
	}
	writeRaw(w, status, encoded)
	return nil
}

// scope returns the namespace of an idempotency key: a path of one player, or of all operators. All players use the
// same paths under /me, and may use the same keys.
func scope(r *http.Request, who caller, key string) string {
	if who.user == "" {
		return digest(r.Method, r.URL.Path, key)
	}
	return digest(r.Method, r.URL.Path, key, who.user)
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
