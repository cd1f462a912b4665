//go:build unix

package rawio

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"redrain/internal/testenv"
)

func TestSocketsDoNotWait(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	testenv.Must(t, err)
	for _, fd := range pair {
		testenv.Must(t, syscall.SetNonblock(fd, true))
	}
	got := make([]byte, 1<<20)
	if n, err := Receive(pair[1], got); n != 0 || !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("nothing has come: %d, %v", n, err)
	}
	if n, err := Send(pair[0], []byte("hello")); n != 5 || err != nil {
		t.Errorf("sent %d, %v", n, err)
	}
	if n, err := Receive(pair[1], got); err != nil || !bytes.Equal(got[:n], []byte("hello")) {
		t.Errorf("received %q, %v", got[:n], err)
	}
	sent := 0
	for {
		n, err := Send(pair[0], got)
		sent += n
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		testenv.Must(t, err)
	}
	if sent == 0 {
		t.Error("the buffer took nothing")
	}
	testenv.Must(t, syscall.Close(pair[0]))
	for sent > 0 {
		n, err := Receive(pair[1], got)
		if err != nil || n == 0 {
			t.Fatalf("%d bytes are missing: %v", sent, err)
		}
		sent -= n
	}
	if n, err := Receive(pair[1], got); n != 0 || err != nil {
		t.Errorf("the end: %d, %v", n, err)
	}
	if _, err := Send(pair[1], got); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("no peer is there: %v", err)
	}
	testenv.Must(t, syscall.Close(pair[1]))
}
