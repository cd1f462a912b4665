package bench

import (
	"math"
	"net"
)

// never is a time that does not come.
const never = math.MaxInt64

// poller is how a loop waits for its sockets. All but wake is for the loop's goroutine only.
type poller interface {
	// add takes a connection over. wait calls heard with what comes; the bytes are good until it returns. With an
	// error the socket has come to its end, and is not closed yet.
	add(conn net.Conn, heard func(data []byte, err error)) (socket, error)
	// wait waits until something comes, it is time, or wake is called, and hands over what has come. now and until
	// are on the loop's clock, in ns; until never is for ever.
	wait(now, until int64) error
	// wake makes wait return. Any goroutine may call it.
	wake()
	// close closes the poller, and the sockets that are left.
	close() error
}

// socket is a connection whose bytes come from a poller.
type socket interface {
	// write sends the bytes, or keeps what the system does not take and sends it as soon as it does.
	write(b []byte) error
	// mute stops reading for good.
	mute() error
	close() error
}
