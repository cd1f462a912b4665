package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"redrain/server/timeout"
)

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
