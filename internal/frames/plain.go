package frames

import (
	"bytes"
	"io"
	"os"
	"sync"
	"syscall"
)

// Handler takes what plain frames bring. The bytes are only lent.
type Handler interface {
	// Text takes a message. It has to be answered, sooner or later, or the end of the connection is noticed only by
	// the next ping.
	Text(message []byte)
	Ping(data []byte)
	Pong(data []byte)
}

// Plain reads plain frames, with messages of at most limit bytes, and hands them to h in the caller's goroutine. It
// returns nil when the library has to read on, from the frame that is not plain, or from the beginning where the
// system or the connection does not allow it; and otherwise why the connection has ended, io.EOF where the peer has
// closed it.
func (c *Conn) Plain(limit int, h Handler) error {
	raw, err := c.SyscallConn()
	if err != nil || !supported {
		return nil // the library finds out what is wrong
	}
	c.begin()
	defer c.end()
	r := reader{conn: c, limit: limit, handler: h}
	var ended error
	// One RawConn.Read for the whole life of the connection: it forgets what it knows of the socket's readiness
	// when it begins, so a second one could sleep through what has come since the first.
	err = raw.Read(func(fd uintptr) (done bool) {
		done, ended = r.drain(int(fd))
		return done
	})
	c.rest = r.tail
	if err != nil {
		return err
	}
	return ended
}

// bufferSize is room for many taps at once, and for any one message.
const bufferSize = 8 << 10

// buffers are taken when there is something to read, so that who is silent holds none.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// reader is the state of one connection between two readings.
type reader struct {
	conn    *Conn
	limit   int
	handler Handler
	tail    []byte // what was read and not used
	left    bool   // the rest is the library's
}

// drain reads until nothing is left to read. It is not done while more may come.
func (r *reader) drain(fd int) (done bool, err error) {
	buffer := buffers.Get().(*[bufferSize]byte) //nolint:forcetypeassert // New makes nothing else
	defer buffers.Put(buffer)
	for {
		if r.conn.overdue() { // who sends without end must not read on without end
			return true, os.ErrDeadlineExceeded
		}
		kept := copy(buffer[:], r.tail)
		n, err := read(fd, buffer[kept:])
		switch {
		case err == syscall.EINTR: //nolint:errorlint // read returns it as it is
			continue
		case err == syscall.EAGAIN: //nolint:errorlint // as above
			return false, nil
		case err != nil:
			return true, err
		case n == 0:
			return true, io.EOF
		}
		answered := r.consume(buffer[:kept+n])
		if r.left {
			return true, nil
		}
		// A short read has drained the socket. It may have hidden one thing: that the end of what the peer sends
		// came together with the data. Whoever has sent a message is written to, and a connection that is gone
		// answers that. One that is closed in one direction only is noticed by the ping that it does not answer;
		// after anything but a message the end is looked for.
		if kept+n < bufferSize && answered {
			return false, nil
		}
	}
}

// consume hands on the whole frames in b and keeps the rest. It reports whether a message was among them.
func (r *reader) consume(b []byte) (message bool) {
	for len(b) > 0 && !r.conn.overdue() {
		f, what := parse(b, r.limit)
		if what != plain {
			r.left = what == other
			break
		}
		switch f.opcode {
		case opText:
			message = true
			r.handler.Text(f.payload)
		case opPing:
			r.handler.Ping(f.payload)
		case opPong:
			r.handler.Pong(f.payload)
		}
		b = b[f.size:]
	}
	r.tail = bytes.Clone(b)
	return message
}
