package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"redrain/rain"
	"redrain/server/timeout"
)

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	writeRaw(w, status, encode(v))
}

// answer answers with a value, or returns err.
func answer[T any](w http.ResponseWriter, v T, err error) error {
	return answerAs(w, v, err, func(v T) T { return v })
}

// answerAs answers with the view of a value, or returns err.
func answerAs[T, V any](w http.ResponseWriter, v T, err error, view func(T) V) error {
	if err == nil {
		WriteJSON(w, http.StatusOK, view(v))
	}
	return err
}

// encode writes a value as JSON. The answers of this package cannot fail to encode.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("server: an answer that cannot be encoded: " + err.Error())
	}
	return data
}

// writeRaw answers with encoded JSON.
func writeRaw(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // if this fails, the client is gone
}

// handler answers a request or returns the error that ends it.
type handler func(w http.ResponseWriter, r *http.Request, who caller) error

// route is one line of the contract's table.
type route struct {
	method, path string
	need         right
	handle       handler
	within       time.Duration // limit of the answer; 0: as in usual
}

// commands reports whether the route is an operator's command that changes data. Commands that players have too log for
// themselves.
func (rt route) commands() bool { return !rt.public() && rt.need != reading }

// public reports whether the route is not only for operators.
func (rt route) public() bool { return rt.need == anyone || rt.need == player || rt.need == entering }

// unlimited is the limit of a stream, where each write has its own deadline.
const unlimited = -1

// usual returns the usual limit of the route's answer.
func (rt route) usual() time.Duration {
	switch {
	case rt.within != 0:
		return rt.within
	case rt.method == http.MethodPost:
		return timeout.Command
	default:
		return timeout.Request
	}
}

// The size of a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// page is the requested part of a list.
type page struct {
	cursor string
	limit  int
}

// pageOf parses limit and cursor. A higher limit than the maximum counts as the maximum.
func pageOf(r *http.Request) (page, error) {
	p := page{cursor: r.URL.Query().Get("cursor"), limit: defaultLimit}
	if s := r.URL.Query().Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return page{}, rain.Invalid{{Field: "limit", Message: fmt.Sprintf("is 1 to %d", maxLimit)}}
		}
		p.limit = min(n, maxLimit)
	}
	return p, nil
}

// list is a page of a list in an answer.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor,omitempty"`
}

func listOf[T, V any](items []T, next string, view func(T) V) list[V] {
	views := make([]V, len(items))
	for i, item := range items {
		views[i] = view(item)
	}
	return list[V]{Items: views, Next: next}
}

// answerList answers with the requested page of a list.
func answerList[T, V any](w http.ResponseWriter, r *http.Request,
	read func(ctx context.Context, cursor string, limit int) (items []T, next string, err error),
	view func(T) V) error {
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	items, next, err := read(r.Context(), p.cursor, p.limit)
	return answerAs(w, items, err, func(items []T) list[V] { return listOf(items, next, view) })
}

// errCut means that an answer has ended early.
var errCut = errors.New("the answer was cut off")

// streaming returns the context and the writer of an answer without a limit in all. The context ends if nothing is
// written for timeout.Progress, and a write waits for its reader no longer than that. stop releases the resources.
func streaming(request context.Context, w http.ResponseWriter) (ctx context.Context, out io.Writer, stop func()) {
	ctx, cancel := context.WithCancelCause(request)
	idle := time.AfterFunc(timeout.Progress, func() { cancel(context.DeadlineExceeded) })
	return ctx, &progress{to: w, idle: idle}, func() { idle.Stop(); cancel(nil) }
}

// progress writes a streaming answer.
type progress struct {
	to   http.ResponseWriter
	idle *time.Timer // ends the answer
}

// Write writes data, and resets the timer.
func (p *progress) Write(data []byte) (int, error) {
	if err := writeWithin(p.to, timeout.Progress); err != nil {
		return 0, err
	}
	n, err := p.to.Write(data)
	p.idle.Reset(timeout.Progress)
	return n, err
}

// writeWithin limits the following writes of an answer. ResponseWriters of tests have no deadlines.
func writeWithin(w http.ResponseWriter, limit time.Duration) error {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
