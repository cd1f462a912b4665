package ws

import (
	"bytes"
	"io"
	"os"
	"sync"
	"syscall"

	"redrain/internal/rawio"
)

// Handler takes what plain frames bring. The bytes are only lent for the call.
type Handler interface {
	// Text takes a message. It has to be answered, sooner or later: otherwise the end of the connection may be
	// noticed only by the next ping.
	Text(message []byte)
	Ping(data []byte)
	Pong(data []byte)
}

// ReadPlain reads plain frames, with messages of at most limit bytes, and hands them to h in the caller's goroutine.
// It returns nil when the library has to read on: from the first frame that is not plain, or from the beginning
// where the system or the connection does not allow ReadPlain. Otherwise it returns why the connection has ended,
// io.EOF where the peer has closed it.
func (c *Conn) ReadPlain(limit int, h Handler) error {
	raw, err := c.SyscallConn()
	if err != nil || !rawio.Supported {
		return nil // the library finds out what is wrong
	}
	c.begin()
	defer c.end()
	r := newReader(c, limit, h)
	var ended error
	// One RawConn.Read for the whole life of the connection: it forgets what it knows of the socket's readiness
	// when it begins, so a second one could sleep through what has come since the first.
	err = raw.Read(func(fd uintptr) (done bool) {
		done, ended = r.drain(int(fd))
		return done
	})
	c.rest = r.unused
	if err == nil {
		err = ended
	}
	if err == nil {
		err = c.awaitRest(false)
	}
	return err
}

const (
	// bufferSize has room for many taps at once, in bytes.
	bufferSize = 8 << 10
	// maxPlain is the longest message that ReadPlain reads, in bytes: its frame has to fit the buffer.
	maxPlain = bufferSize - MaxHeader - keyLen
)

// buffers are taken while there is something to read, so that a silent connection holds none.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// reader is the state of one connection between two reads.
type reader struct {
	conn    *Conn
	limit   int
	handler Handler
	unused  []byte // received, and not used yet
	left    bool   // the library has to read on
}

func newReader(c *Conn, limit int, h Handler) reader {
	return reader{conn: c, limit: min(limit, maxPlain), handler: h}
}

// drain reads until the socket is empty. It returns done when no more is to be read here.
func (r *reader) drain(fd int) (done bool, err error) {
	buffer := buffers.Get().(*[bufferSize]byte) //nolint:forcetypeassert // New makes nothing else
	defer buffers.Put(buffer)
	for {
		if r.conn.overdue() { // a peer that sends without end must not keep this loop for ever
			return true, os.ErrDeadlineExceeded
		}
		kept := copy(buffer[:], r.unused)
		n, err := rawio.Receive(fd, buffer[kept:])
		switch {
		case err == syscall.EINTR: //nolint:errorlint // Receive returns it as it is
			continue
		case err == syscall.EAGAIN: //nolint:errorlint // as above
			return r.wait()
		case err != nil:
			return true, err
		case n == 0:
			return true, io.EOF
		}
		answered := r.consume(buffer[:kept+n])
		if r.left {
			return true, nil
		}
		// A short read has drained the socket. It may hide one thing: that the peer's end of the stream came
		// together with the data. A peer that has sent a message is written to, and a connection that is gone
		// answers that with an error. One that is closed in one direction only is noticed by the ping that it does
		// not answer. After anything but a message the next read looks for the end.
		if kept+n < bufferSize && answered {
			return r.wait()
		}
	}
}

// wait lets the reader sleep until more comes; for the rest of a frame not for long.
func (r *reader) wait() (done bool, err error) {
	err = r.conn.awaitRest(len(r.unused) > 0)
	return err != nil, err
}

// consume hands on the whole frames in b and keeps the rest. It reports whether a message was among them.
func (r *reader) consume(b []byte) (message bool) {
	for len(b) > 0 && !r.conn.overdue() {
		f, found := parsePlain(b, r.limit)
		if found != plain {
			if r.left = found == other; r.left {
				refuseHalfCode(b)
			}
			break
		}
		switch f.opcode {
		case OpText:
			message = true
			r.handler.Text(f.payload)
		case OpPing:
			r.handler.Ping(f.payload)
		case OpPong:
			r.handler.Pong(f.payload)
		}
		b = b[f.size:]
	}
	r.unused = bytes.Clone(b)
	return message
}
