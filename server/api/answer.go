package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"redrain/rain"
	"redrain/server/timeout"
)

// request is a request with its caller, and the writer of its answer.
type request struct {
	*http.Request
	caller

	w   http.ResponseWriter
	key string // the idempotency key of a creation, see once; "" without one
}

// id returns the id in the path.
func (q *request) id() string { return q.PathValue("id") }

// query returns a parameter, or "".
func (q *request) query(name string) string { return q.URL.Query().Get(name) }

// handler returns the answer to a request, or the error that ends it. If it has written the answer itself, it returns
// nil.
type handler func(q *request) (any, error)

// reply is an answer with another status than 200.
type reply struct {
	status int
	body   any
}

// replyOf returns a handler's answer with its status.
func replyOf(v any) reply {
	if r, is := v.(reply); is {
		return r
	}
	return reply{http.StatusOK, v}
}

// created returns the answer of a creation.
func created(v any) reply { return reply{http.StatusCreated, v} }

// as returns a function that answers with the view of a value, or returns its error.
func as[T, V any](view func(T) V) func(T, error) (any, error) {
	return func(v T, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return view(v), nil
	}
}

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(v), '\n')) // if this fails, the client is gone
}

// encode writes a value as JSON. The answers of this package cannot fail to encode.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("server: an answer that cannot be encoded: " + err.Error())
	}
	return data
}

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
func pageOf(q *request) (page, error) {
	p := page{cursor: q.query("cursor"), limit: defaultLimit}
	if s := q.query("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return page{}, invalid("limit", "is 1 to %d", maxLimit)
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

// same is the view of a type that has the fields of the answer.
func same[T any](v T) T { return v }

// listed answers with the requested page of a list.
func listed[T, V any](q *request,
	read func(ctx context.Context, cursor string, limit int) (items []T, next string, err error),
	view func(T) V) (any, error) {
	p, err := pageOf(q)
	if err != nil {
		return nil, err
	}
	items, next, err := read(q.Context(), p.cursor, p.limit)
	return listOf(items, next, view), err
}

// errCut means that an answer has ended early.
var errCut = errors.New("the answer was cut off")

// stream sends an answer without a limit in all. ctx ends if nothing is written for timeout.Progress, and a write waits
// for its reader no longer than that. An error or a panic after the first write cuts the answer off.
func (a *API) stream(q *request, what, mediaType string, write func(ctx context.Context, to io.Writer) error) error {
	q.w.Header().Set("Content-Type", mediaType)
	q.w.Header().Set("Cache-Control", "no-store")
	q.w.Header().Set("X-Accel-Buffering", "no")
	ctx, cancel := context.WithCancelCause(q.Context())
	defer cancel(nil)
	to := &progress{to: q.w, idle: time.AfterFunc(timeout.Progress, func() { cancel(context.DeadlineExceeded) })}
	defer to.idle.Stop()
	err := a.o.Recoverer.Try("http", func() error { return write(ctx, to) })
	if err == nil || !to.begun {
		return err
	}
	a.o.Log.WarnContext(q.Context(), "an answer was cut off", "of", what, "path", q.URL.Path, "err", err)
	return errCut
}

// attach makes the answer a file.
func (q *request) attach(name string) {
	q.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// progress writes a streaming answer.
type progress struct {
	to    http.ResponseWriter
	idle  *time.Timer // ends the answer
	begun bool
}

// Write sends data, and resets the timer.
func (p *progress) Write(data []byte) (int, error) {
	p.begun = true
	n, err := send(p.to, data)
	p.idle.Reset(timeout.Progress)
	return n, err
}

// send writes a part of a stream, and waits for a slow reader for a limited time.
func send(w http.ResponseWriter, data []byte) (int, error) {
	if err := writeWithin(w, timeout.Progress); err != nil {
		return 0, err
	}
	n, err := w.Write(data)
	if err == nil {
		err = supported(http.NewResponseController(w).Flush())
	}
	return n, err
}

// writeWithin limits the following writes of an answer.
func writeWithin(w http.ResponseWriter, limit time.Duration) error {
	return supported(http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)))
}

// supported ignores http.ErrNotSupported, which the ResponseWriters of tests return.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// invalid returns the fault of one field.
func invalid(field, format string, args ...any) error {
	var wrong faults
	wrong.check(false, field, format, args...)
	return rain.Invalid(wrong)
}
