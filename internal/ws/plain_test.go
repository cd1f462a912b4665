package ws

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/ws/wstest"
)

// A frame is classified as soon as the bytes that decide are there.
func TestWhatIsPlain(t *testing.T) {
	frame := func(first byte, n int) []byte { return wstest.Frame(first, string(make([]byte, n)), 7) }
	long := func(length ...byte) []byte { return append([]byte{0x81}, append(length, make([]byte, 300)...)...) }
	for name, c := range map[string]struct {
		b    []byte
		want class
	}{
		"nothing": {nil, partial}, "one byte": {[]byte{0x88}, partial},
		"a text, two bytes": {[]byte{0x81, 0x80}, partial}, "a close, two bytes": {[]byte{0x88, 0x80}, other},
		"a header but for a byte":      {frame(0x81, 5)[:5], partial},
		"a frame but for a byte":       {frame(0x81, 5)[:10], partial},
		"half a long header":           {frame(0x81, 126)[:3], partial},
		"a long header but for a byte": {frame(0x81, 126)[:7], partial},
		"a text":                       {frame(0x81, 0), plain}, "the longest short text": {frame(0x81, 125), plain},
		"the shortest long text": {frame(0x81, 126), plain},
		"at the limit":           {frame(0x81, 200), plain}, "above the limit": {frame(0x81, 201), other},
		"longer than it need be": {long(0x80|126, 0, 125), other}, "eight bytes of length": {long(0x80 | 127), other},
		"a ping": {frame(0x89, 125), plain}, "a pong": {frame(0x8A, 125), plain},
		"a ping that is too long": {frame(0x89, 126), other}, "a pong that is too long": {frame(0x8A, 126), other},
		"no mask": {[]byte{0x81, 0}, other}, "reserved": {[]byte{0xC1, 0x80}, other},
		"a fragment": {[]byte{0x01, 0x80}, other}, "binary": {[]byte{0x82, 0x80}, other},
	} {
		f, got := parsePlain(bytes.Clone(c.b), 200)
		if got != c.want || got == plain && f.size != len(c.b) || got != plain && f.size != 0 {
			t.Errorf("%s: class %d and %d of %d bytes, want class %d", name, got, f.size, len(c.b), c.want)
		}
	}
}

// A reason without the first byte of a character cannot be cut anywhere.
func TestAReasonThatIsNoText(t *testing.T) {
	testenv.Equal(t, len(AppendClose(nil, 4000, string(bytes.Repeat([]byte{0x80}, 200)))), 4, "bytes of a close frame")
}

// Bytes that ReadPlain has not used are read once, and no longer kept. Errors of the connection below are passed on.
func TestWhatIsLeftIsReadOnce(t *testing.T) {
	ours, theirs := net.Pipe()
	conn := &Conn{Conn: ours, rest: []byte("left")}
	got := make([]byte, 8)
	if n, err := conn.Read(got); string(got[:n]) != "left" || err != nil || conn.rest != nil {
		t.Errorf("read %q, %v; %q is kept", got[:n], err, conn.rest)
	}
	go func() { _, _ = theirs.Write([]byte("new")) }()
	if n, err := conn.Read(got); string(got[:n]) != "new" || err != nil {
		t.Errorf("read %q, %v", got[:n], err)
	}
	testenv.WantErr(t, errors.Join(conn.Close(), theirs.Close()), nil)
	testenv.WantErr(t, conn.SetReadDeadline(time.Now()), io.ErrClosedPipe, "the deadline of a closed pipe")
}

// A deadline that is still to come ends nothing.
func TestADeadlineToCome(t *testing.T) {
	conn, peer := pair(t)
	heard := false
	soon := time.Now().Add(time.Minute)
	err := errors.Join(conn.SetReadDeadline(soon), peer.SetDeadline(soon))
	if _, failed := peer.Write(wstest.Frame(0x81, "x", 0)); failed != nil || err != nil {
		t.Fatal(err, failed)
	}
	_ = conn.ReadPlain(limit, onText(func([]byte) { heard = true; _ = conn.Close() }))
	if !heard {
		t.Error("the message was not read")
	}
}
