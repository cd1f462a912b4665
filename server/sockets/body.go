package sockets

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// bodyGrace is the time for a body to begin.
	bodyGrace = 5 * time.Second
	// bodyRate is the least average rate from then on, in bytes per second. A player's largest body takes nine seconds
	// at this rate, which is too slow for playing.
	bodyRate = 1 << 10
)

// body is a request's body that has to make progress.
type body struct {
	io.ReadCloser

	conn  *http.ResponseController
	slow  prometheus.Counter
	began time.Time
	read  int64
}

// guardBody ends a request whose body comes too slowly, even if no handler reads it: net/http reads the rest before it
// answers.
func (t *Table) guardBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	b := &body{ReadCloser: r.Body, conn: http.NewResponseController(w), slow: t.metrics.cut.WithLabelValues(cutBody),
		began: time.Now()}
	b.extend()
	r.Body = b
}

// Read reads the body. At its end it removes the deadline.
func (b *body) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		_ = b.conn.SetReadDeadline(time.Time{}) // a connection without deadlines has none to lose
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.slow.Inc()
	}
	return n, err
}

// extend sets the deadline for the next bytes.
func (b *body) extend() {
	fair := time.Duration(b.read) * time.Second / bodyRate
	_ = b.conn.SetReadDeadline(b.began.Add(bodyGrace + fair)) // not every connection has deadlines: those of tests
}
