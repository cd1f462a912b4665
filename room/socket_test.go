package room

import (
	"errors"
	"net"
	"testing"

	"redrain/internal/testenv"
)

// The system gives the descriptor of a closed connection to the next one, which a member of the closed one must never
// write to.
func TestWhoIsClosedWritesToNobodyElse(t *testing.T) {
	t.Parallel()
	listener := testenv.Got((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")).Must(t)
	defer listener.Close() //nolint:errcheck // only the connections matter
	connect := func() (*Socket, net.Conn) {
		far := testenv.Got((&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())).Must(t)
		near := testenv.Got(listener.Accept()).Must(t)
		return NewSocket(near), far
	}
	gone, far := connect()
	if n, err := gone.tryWrite([]byte("hello")); n != 5 || err != nil {
		t.Fatalf("wrote %d bytes, %v", n, err)
	}
	testenv.Must(t, errors.Join(gone.Close(), far.Close()))
	for range 4 { // one of them has the descriptor
		next, far := connect()
		if n, err := gone.tryWrite([]byte("not for you")); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
		if n, err := next.tryWrite([]byte("yours")); n != 5 || err != nil {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
		got := make([]byte, 64)
		if n, err := far.Read(got); string(got[:n]) != "yours" || err != nil {
			t.Errorf("%q came, %v", got[:n], err)
		}
		t.Cleanup(func() { _ = errors.Join(next.Close(), far.Close()) })
	}
}
