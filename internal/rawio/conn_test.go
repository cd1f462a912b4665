package rawio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// connect makes a connection and wraps the end that writes.
func connect(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer listener.Close() //nolint:errcheck // only the connections matter
	dialed, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	testenv.Must(t, err)
	near = Wrap(dialed)
	if far, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(near.Close(), far.Close()) })
	if _, wrapped := near.(*Conn); wrapped != Supported {
		t.Fatalf("it is a %T", near)
	}
	return near, far
}

// More than the system takes at once arrives whole and in order.
func TestAConnWritesAll(t *testing.T) {
	t.Parallel()
	near, far := connect(t)
	sent := make([]byte, 16<<20)
	for i := range sent {
		sent[i] = byte(i * i >> 8)
	}
	got := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(far)
		got <- all
	}()
	for _, part := range [][]byte{sent[:100], sent[100:]} {
		if n, err := near.Write(part); n != len(part) || err != nil {
			t.Fatalf("wrote %d of %d bytes, %v", n, len(part), err)
		}
	}
	testenv.Must(t, near.Close())
	if all := <-got; !bytes.Equal(all, sent) {
		t.Errorf("%d bytes came, or others than the %d sent", len(all), len(sent))
	}
	if n, err := near.Write([]byte("late")); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("wrote %d bytes after the end, %v", n, err)
	}
}

// A peer that does not read is waited for until the deadline.
func TestAConnWaitsUntilItsDeadline(t *testing.T) {
	t.Parallel()
	near, _ := connect(t)
	testenv.Must(t, near.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	all := make([]byte, 64<<20)
	if n, err := near.Write(all); n == len(all) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
}

func TestOnlyATCPConnectionIsWrapped(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close() //nolint:errcheck // a pipe
	if Wrap(near) != near {
		t.Error("a pipe is wrapped")
	}
}
