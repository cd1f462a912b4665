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
	// bodyGrace is how long a body may take to begin.
	bodyGrace = 5 * time.Second
	// bodyRate is how fast it must come from then on, on average, in bytes per second: a player's largest body is here
	// in nine seconds, on a line that is no good for playing.
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

// guardBody limits how slowly a request's body may come. It does so also where nobody reads it: net/http reads what is
// left before it answers.
func (t *Table) guardBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	b := &body{ReadCloser: r.Body, conn: http.NewResponseController(w), slow: t.metrics.cut[cutBody],
		began: time.Now()}
	b.extend()
	r.Body = b
}

// Read is the body's. When all has come, the deadline goes.
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

// extend sets until when more must have come.
func (b *body) extend() {
	fair := time.Duration(b.read) * time.Second / bodyRate
	_ = b.conn.SetReadDeadline(b.began.Add(bodyGrace + fair)) // not every connection has deadlines: those of tests
}
