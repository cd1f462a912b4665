package rawio

import (
	"errors"
	"sync"
	"syscall"
)

// Writer writes to a socket of the net package without waiting: Go keeps its sockets non-blocking.
type Writer struct{ raw syscall.RawConn }

// NewWriter returns a Writer for the socket of a connection.
func NewWriter(conn syscall.Conn) (Writer, error) {
	raw, err := conn.SyscallConn()
	return Writer{raw}, err
}

// TryWrite writes as much of p as the system's buffer has room for; fewer bytes than given are no error. It fails
// when the connection is closed or its write deadline has passed.
func (w Writer) TryWrite(p []byte) (int, error) {
	if !Supported {
		return 0, nil
	}
	a := attempts.Get().(*attempt) //nolint:forcetypeassert // New makes nothing else
	a.p = p
	err := w.raw.Write(a.do)
	n, failed := a.n, a.err
	a.p, a.n, a.err = nil, 0, nil
	attempts.Put(a)
	switch {
	case err != nil: // closed, or past its deadline
		return 0, err
	case errors.Is(failed, syscall.EAGAIN):
		return 0, nil
	case failed != nil:
		return 0, failed
	}
	return n, nil
}

// attempt is one write that does not wait.
type attempt struct {
	p   []byte
	n   int
	err error
	do  func(fd uintptr) bool // send; kept, because making it is an allocation
}

var attempts = sync.Pool{New: func() any {
	a := &attempt{}
	a.do = a.send
	return a
}}

func (a *attempt) send(fd uintptr) (done bool) {
	a.n, a.err = Send(int(fd), a.p)
	for errors.Is(a.err, syscall.EINTR) {
		a.n, a.err = Send(int(fd), a.p)
	}
	return true // not "wait until the socket is writable"
}
