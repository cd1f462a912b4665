package rawio

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// Writer writes to a socket of the net package without waiting: Go keeps its sockets non-blocking. It uses the
// socket's descriptor directly, because each write with a RawConn costs ten times as much preparation.
//
// Close the Writer before the connection: the system gives the descriptor of a closed connection to the next one.
type Writer struct {
	mu     sync.Mutex // held during a write, so that the descriptor stays the connection's
	fd     int
	closed bool
}

// NewWriter returns a Writer for the socket of a connection.
func NewWriter(conn syscall.Conn) (*Writer, error) {
	if !Supported {
		return nil, errors.ErrUnsupported
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &Writer{}
	return w, raw.Control(func(fd uintptr) { w.fd = int(fd) })
}

// TryWrite writes as much of p as the system's buffer has room for; fewer bytes than given are no error. It fails with
// net.ErrClosed after Close.
func (w *Writer) TryWrite(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, net.ErrClosed
	}
	for {
		n, err := Send(w.fd, p)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		default:
			return n, err
		}
	}
}

// Close refuses further writes, and waits for a write in flight. It does not close the connection.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}
