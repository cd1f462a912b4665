package bench

import (
	"net"
	"sync"
	"time"
)

// writeWithin bounds how long a peer that reads nothing may hold up a portable loop.
const writeWithin = 5 * time.Second

// portable is the poller for every system and for TLS: a goroutine reads each connection and hands what comes to
// the loop.
type portable struct {
	events  chan arrival
	wakeup  chan struct{}
	ended   chan struct{}
	readers sync.WaitGroup
	buffers sync.Pool
	sockets map[*netSocket]struct{}
	timer   *time.Timer
}

// arrival is what a reader has got.
type arrival struct {
	socket *netSocket
	buf    *[]byte
	n      int
	err    error
}

func newPortable() poller {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &portable{
		events: make(chan arrival, 1024), wakeup: make(chan struct{}, 1), ended: make(chan struct{}),
		sockets: map[*netSocket]struct{}{},
		buffers: sync.Pool{New: func() any { b := make([]byte, 4096); return &b }}, timer: timer,
	}
}

func (q *portable) add(conn net.Conn, heard func([]byte, error)) (socket, error) {
	s := &netSocket{poller: q, conn: conn, heard: heard}
	q.sockets[s] = struct{}{}
	q.readers.Go(s.read)
	return s, nil
}

func (q *portable) wait(now, until int64) error {
	var expired <-chan time.Time
	switch {
	case until <= now:
		q.more()
		return nil
	case until != never:
		q.timer.Reset(time.Duration(until - now))
		defer q.timer.Stop()
		expired = q.timer.C
	}
	select {
	case a := <-q.events:
		q.deliver(a)
	case <-q.wakeup:
	case <-expired:
	}
	q.more()
	return nil
}

// more hands over what has come besides, as far as there was room for it.
func (q *portable) more() {
	for range len(q.events) {
		q.deliver(<-q.events)
	}
}

func (q *portable) deliver(a arrival) {
	if a.n > 0 && !a.socket.gone {
		a.socket.heard((*a.buf)[:a.n], nil)
	}
	if a.err != nil && !a.socket.gone {
		a.socket.heard(nil, a.err)
	}
	q.buffers.Put(a.buf)
}

func (q *portable) wake() {
	select {
	case q.wakeup <- struct{}{}:
	default: // it is awake
	}
}

func (q *portable) close() error {
	close(q.ended)
	for s := range q.sockets {
		_ = s.conn.Close() // its reader returns
	}
	q.readers.Wait()
	return nil
}

// netSocket is a socket of portable.
type netSocket struct {
	poller *portable
	conn   net.Conn
	heard  func(data []byte, err error)
	gone   bool // the loop's
}

func (s *netSocket) read() {
	for {
		buf := s.poller.buffers.Get().(*[]byte) //nolint:forcetypeassert // the pool has no others
		n, err := s.conn.Read(*buf)
		select {
		case s.poller.events <- arrival{s, buf, n, err}:
		case <-s.poller.ended:
			return
		}
		if err != nil {
			return
		}
	}
}

func (s *netSocket) write(b []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	_, err := s.conn.Write(b)
	return err
}

func (s *netSocket) mute() error {
	s.gone = true
	return s.conn.SetReadDeadline(time.Now())
}

func (s *netSocket) close() error {
	s.gone = true
	delete(s.poller.sockets, s)
	return s.conn.Close()
}
