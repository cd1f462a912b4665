package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/internal/ws"
)

// However the network cuts the bytes, the same messages come of them.
func TestFramesInPieces(t *testing.T) {
	// the second needs the 64-bit length
	small, large := aWave(1, 9_000), aWave(2, slices.Repeat([]int{9_000}, 8_000)...)
	middle := aWave(3, slices.Repeat([]int{9_000}, 100)...)
	ping := []byte{0x80 | ws.OpPing, 2, 'h', 'i'}
	first := wire.Encode(aWave(4, 5_000))
	fragments := append(append([]byte{ws.OpText, 10}, first[:10]...), 0x80|ws.OpContinuation, byte(len(first)-10))
	fragments = append(fragments, first[10:]...)
	stream := slices.Concat(serverFrame(wire.Encode(small)), ping, longFrame(wire.Encode(large)), fragments[:12], ping,
		fragments[12:], serverFrame(wire.Encode(middle)))
	random := testenv.Random(t)
	for range 50 {
		r := newRig(t, 1)
		socket := &ponger{}
		r.players[0].sock = socket
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(1+random.IntN(len(stream))))
			r.heard(r.players[0], bytes.Clone(rest[:n]), nil)
			rest = rest[n:]
		}
		if r.tally.waves != 4 || len(r.tally.faults) != 0 || socket.pongs != 2 || len(r.players[0].in) != 0 {
			t.Fatalf("%d waves, %d pongs, faults %v, %d bytes left", r.tally.waves, socket.pongs, r.tally.faults,
				len(r.players[0].in))
		}
	}
}

// longFrame is a frame whose length takes eight bytes.
func longFrame(body []byte) []byte {
	n := len(body)
	return append([]byte{0x80 | ws.OpText, 127, 0, 0, 0, 0, 0, byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

// ponger counts the pongs that say what the pings did.
type ponger struct{ pongs int }

func (s *ponger) write(b []byte) error {
	if bytes.Equal(b, []byte{0x80 | ws.OpPong, 0x80 | 2, 0, 0, 0, 0, 'h', 'i'}) {
		s.pongs++
	}
	return nil
}
func (s *ponger) mute() error  { return nil }
func (s *ponger) close() error { return nil }

func TestBadFrames(t *testing.T) {
	for name, data := range map[string][]byte{
		"masked": {0x80 | ws.OpText, 0x80, 0, 0, 0, 0}, "reserved": {0x80 | 0x40 | ws.OpText, 0},
		"huge":   {0x80 | ws.OpText, 127, 0, 0, 1, 0, 0, 0, 0, 0},
		"binary": {0x80 | 0x2, 0},
	} {
		r := newRig(t, 1)
		r.heard(r.players[0], data, nil)
		if r.tally.broken != 1 || sumOf(r.tally.faults) != 1 {
			t.Errorf("%s: broken %d, faults %v", name, r.tally.broken, r.tally.faults)
		}
	}
	r := newRig(t, 1)
	for _, text := range []string{"{", `{"type":"wave"`, `{"type":"result","id":1}`, `{"type":"welcome","claims":7}`} {
		r.heard(r.players[0], serverFrame([]byte(text)), nil)
	}
	if sumOf(r.tally.faults) != 4 {
		t.Errorf("faults %v", r.tally.faults)
	}
	r.heard(r.players[0], serverFrame([]byte(`{"type":"of a later version","x":1}`)), nil)
	if sumOf(r.tally.faults) != 4 {
		t.Errorf("an unknown type is a fault: %v", r.tally.faults)
	}
}

func sumOf(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// What a server sends in one piece with its answer to the upgrade is not lost.
func TestDialKeepsWhatFollowsTheUpgrade(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	done := make(chan error, 1)
	go func() { done <- upgradeAndSpeak(l) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, rest, err := dial(ctx, "ws://"+l.Addr().String()+"/ws", PerAddress, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	more, err := io.ReadAll(conn)
	if err != nil || string(rest)+string(more) != "at once, and later" {
		t.Errorf("%q and %q, %v", rest, more, err)
	}
	if host, _, _ := strings.Cut(conn.LocalAddr().String(), ":"); SourceAddress(l.Addr().String(), PerAddress) != nil &&
		host != "127.0.0.2" {
		t.Errorf("comes from %s", host)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func upgradeAndSpeak(l net.Listener) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "+
		"Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\nat once, ")
	if err == nil {
		_, err = io.WriteString(conn, "and later")
	}
	return err
}

func TestSourceAddress(t *testing.T) {
	for _, tc := range []struct {
		target string
		player int
		want   string
	}{
		{"127.0.0.1:80", 0, "127.0.0.1:0"}, {"localhost:80", 999, "127.0.0.1:0"}, {"localhost:80", 1000, "127.0.0.2:0"},
		{"127.0.0.1:80", 300_000, "127.0.1.45:0"},
		{"[::1]:80", 0, ""}, {"192.0.2.1:80", 5, ""}, {"example.com:80", 5, ""},
	} {
		got := ""
		if a := SourceAddress(tc.target, tc.player); a != nil {
			got = a.String()
		}
		if want := tc.want; got != want && !(got == "" && SourceAddress("127.0.0.1:1", 0) == nil) {
			t.Errorf("player %d to %s comes from %q, want %q", tc.player, tc.target, got, want)
		}
	}
}

func TestAlarmsComeInOrder(t *testing.T) {
	var h alarms
	random := testenv.Random(t)
	for range 1_000 {
		h.push(alarm{at: random.Int64N(500)})
		if random.IntN(3) == 0 {
			h.pop()
		}
	}
	for last := int64(-1); len(h) > 0; {
		a := h.pop()
		if a.at < last {
			t.Fatalf("%d after %d", a.at, last)
		}
		last = a.at
	}
}

func TestBackoff(t *testing.T) {
	for n := range 50 {
		for range 20 {
			if d := backoff(n); d < 0 || d > backoffMost || (n == 0 && d > backoffFirst) {
				t.Errorf("pause %d is %s", n, d)
			}
		}
	}
	for code, want := range map[int]bool{4000: true, 4001: true, 4008: true, 4500: false, 4505: false, 4004: false,
		4507: false, 1006: true,
		1012: true, 1005: true} {
		if comesBack(code, "") != want {
			t.Errorf("code %d: %v", code, !want)
		}
	}
	if !comesBack(4501, wire.LateHello) || comesBack(4501, "the first message is hello") ||
		comesBack(4500, wire.LateHello) {
		t.Error("4501 ends all but those whose hello was late")
	}
}
