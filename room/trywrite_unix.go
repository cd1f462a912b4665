//go:build unix

package room

import (
	"errors"
	"sync"
	"syscall"

	"redrain/internal/rawio"
)

// attempt is one write that does not wait: Go keeps its sockets non-blocking.
type attempt struct {
	p   []byte
	n   int
	err error
	do  func(fd uintptr) bool // write; kept, because to make it is an allocation
}

var attempts = sync.Pool{New: func() any {
	a := &attempt{}
	a.do = a.write
	return a
}}

func (a *attempt) write(fd uintptr) (done bool) {
	a.n, a.err = rawio.Send(int(fd), a.p)
	for errors.Is(a.err, syscall.EINTR) {
		a.n, a.err = rawio.Send(int(fd), a.p)
	}
	return true // not "wait until it can be written"
}

// systemWriter is a TryWriter on a connection of the system.
type systemWriter struct{ raw syscall.RawConn }

// TryWrite writes as much as the system's buffer has room for.
func (w systemWriter) TryWrite(p []byte) (int, error) {
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
