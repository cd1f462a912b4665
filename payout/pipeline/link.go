package pipeline

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// link measures how long a connection to NATS has been up.
type link struct {
	conn *nats.Conn

	mu         sync.Mutex
	since      time.Time // zero: it is down
	reconnects uint64
}

// look is called periodically. The client's count of reconnects shows a break between two calls.
func (l *link) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	made := l.conn.Stats().Reconnects
	switch {
	case l.conn.Status() != nats.CONNECTED:
		l.since = time.Time{}
	case l.since.IsZero(), made != l.reconnects:
		l.since = time.Now()
	}
	l.reconnects = made
}

// up reports whether the connection has been up for span without a break.
func (l *link) up(span time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.since.IsZero() && time.Since(l.since) >= span
}
