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

// answer answers with a value, or returns the error that there is instead of one.
func answer[T any](w http.ResponseWriter, v T, err error) error {
	return answerAs(w, v, err, func(v T) T { return v })
}

// answerAs answers with the view of a value, or returns the error that there is instead of one.
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

// writeRaw answers with a value that is JSON already.
func writeRaw(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client has gone, if this fails
}

// handler answers a request or returns the error that ends it.
type handler func(w http.ResponseWriter, r *http.Request, who caller) error

// route is one line of the contract's table.
type route struct {
	method, path string
	need         right
	handle       handler
	within       time.Duration // how long an answer may take; 0: what usual says
}

// commands tells whether it is an operator's command, and not a question. What players may do too logs for itself.
func (rt route) commands() bool { return !rt.public() && rt.need != reading }

// public tells whether it is for others than operators.
func (rt route) public() bool { return rt.need == anyone || rt.need == player || rt.need == entering }

// unlimited is the time of what streams: each write of it has a deadline of its own.
const unlimited = -1

// usual is how long an answer may take: what only reads asks a back end a few questions.
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

// page is where a list begins and how much of it is wanted.
type page struct {
	cursor string
	limit  int
}

// pageOf reads limit and cursor. More than the most is the most.
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

// list is a page of a list as it is answered.
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

// answerList answers with the page of a list that is asked for.
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

// errCut is an answer that has ended before it was whole.
var errCut = errors.New("the answer was cut off")

// streaming is for an answer that may take as long as it likes, as long as it goes on: the context ends when nothing
// was written for timeout.Progress, and a write waits for its reader no longer than that. stop frees what this takes.
func streaming(request context.Context, w http.ResponseWriter) (ctx context.Context, out io.Writer, stop func()) {
	ctx, cancel := context.WithCancelCause(request)
	idle := time.AfterFunc(timeout.Progress, func() { cancel(context.DeadlineExceeded) })
	return ctx, &progress{to: w, idle: idle}, func() { idle.Stop(); cancel(nil) }
}

// progress writes an answer that goes on.
type progress struct {
	to   http.ResponseWriter
	idle *time.Timer // ends the answer
}

// Write passes on what is written, and puts the end of the answer off.
func (p *progress) Write(data []byte) (int, error) {
	if err := writeWithin(p.to, timeout.Progress); err != nil {
		return 0, err
	}
	n, err := p.to.Write(data)
	p.idle.Reset(timeout.Progress)
	return n, err
}

// writeWithin limits the writes of an answer from here on. Not every ResponseWriter has deadlines: those of tests have
// none.
func writeWithin(w http.ResponseWriter, limit time.Duration) error {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
