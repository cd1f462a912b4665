package ws

import (
	"bytes"
	"io"
	"os"
	"sync"
	"syscall"

	"redrain/internal/rawio"
)

// Handler takes the payloads of plain frames. The gateway's session implements it. The bytes are only lent for the
// call.
type Handler interface {
	// Text takes a message. The handler has to answer it eventually: otherwise the end of the connection may be
	// noticed only by the next ping.
	Text(message []byte)
	Ping(data []byte)
	Pong(data []byte)
}

// ReadPlain reads plain frames, with messages of at most limit bytes, and passes them to h in the caller's goroutine.
// It returns nil when the library has to read on: from the first frame that is not plain. If the system or the
// connection does not allow ReadPlain, that is from the beginning. Otherwise it returns the reason of the
// connection's end, io.EOF if the peer has closed it.
func (c *Conn) ReadPlain(limit int, h Handler) error {
	raw, err := c.SyscallConn()
	if err != nil || !rawio.Supported {
		return nil // the library finds the fault
	}
	c.begin()
	defer c.end()
	r := newReader(c, limit, h)
	var ended error
	// One RawConn.Read lasts for the life of the connection. It drops its state of the socket's readiness when it
	// begins, so a second one could miss data that came since the first.
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

// buffers are used only while there is data to read, so that a silent connection holds none.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// reader is the state of one connection between two reads.
type reader struct {
	conn     *Conn
	limit    int
	handler  Handler
	unused   []byte // received, and not used yet
	notPlain bool   // the library has to read on
}

func newReader(c *Conn, limit int, h Handler) reader {
	return reader{conn: c, limit: min(limit, maxPlain), handler: h}
}

// drain reads until the socket is empty. It returns done when the library has to read on.
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
		if r.notPlain {
			return true, nil
		}
		// A short read drained the socket. It may hide the peer's end. After a message our answer finds that, or the
		// next ping if the peer has closed one direction only. Otherwise read again.
		if kept+n < bufferSize && answered {
			return r.wait()
		}
	}
}

// wait lets the reader sleep until more comes; for the rest of a frame it limits the wait.
func (r *reader) wait() (done bool, err error) {
	err = r.conn.awaitRest(len(r.unused) > 0)
	return err != nil, err
}

// consume passes on the complete frames in b and keeps the rest. It reports whether a message was among them.
func (r *reader) consume(b []byte) (message bool) {
	for len(b) > 0 && !r.conn.overdue() {
		f, found := parsePlain(b, r.limit)
		if found != plain {
			if r.notPlain = found == other; r.notPlain {
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
