package room

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"redrain/internal/testenv"
	"redrain/internal/ws"

	"github.com/gorilla/websocket"
	"pgregory.net/rapid"
)

// readFrame reads a frame of a server, strictly by RFC 6455. Between two frames the end is io.EOF.
func readFrame(r *bufio.Reader) (opcode int, payload []byte, err error) {
	first, err := r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	second, err := r.ReadByte()
	size, more := uint64(second&0x7f), 0
	switch size {
	case 126:
		more = 2
	case 127:
		more = 8
	}
	if more > 0 {
		size = 0
	}
	for range more {
		var b byte
		if b, err = r.ReadByte(); err == nil {
			size = size<<8 | uint64(b)
		}
	}
	switch {
	case err != nil:
		return 0, nil, io.ErrUnexpectedEOF
	case first&0x80 == 0 || first&0x70 != 0 || second&0x80 != 0:
		return 0, nil, fmt.Errorf("a frame begins with %#x %#x", first, second)
	case (more == 2 && size < 126) || (more == 8 && size < 1<<16):
		return 0, nil, errors.New("a length is longer than it need be")
	}
	payload = make([]byte, size)
	if _, err = io.ReadFull(r, payload); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return int(first & 0xf), payload, nil
}

// A client reads the frames that a batch assembles: control frames first, then one text frame.
func TestAssembledFramesAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &batch{}
		for range 3 { // the buffer is used again
			ping := rapid.Bool().Draw(t, "ping")
			pong := rapid.Bool().Draw(t, "pong")
			var control []byte
			if pong {
				control = append(ws.AppendHeader(nil, websocket.PongMessage, 4), "pong"...)
			}
			var messages [][]byte
			b.ping, b.control, b.frames = ping, control, b.frames[:0]
			for range rapid.IntRange(0, 3).Draw(t, "messages") {
				size := rapid.OneOf(rapid.IntRange(0, 130), rapid.IntRange(1<<16-3, 1<<16+3)).Draw(t, "size")
				message := bytes.Repeat([]byte{'a' + byte(len(messages))}, size)
				messages = append(messages, message)
				f := frame{bytes: message}
				if rapid.Bool().Draw(t, "shared") {
					f = sharedFrame(message)
				}
				b.frames = append(b.frames, f)
			}
			r := bufio.NewReader(bytes.NewReader(b.assemble()))
			expect := func(opcode int, payload []byte) {
				if got, read, err := readFrame(r); got != opcode || !bytes.Equal(read, payload) || err != nil {
					t.Fatalf("read a frame of type %d and %d bytes (%v), want type %d and %d bytes", got, len(read),
						err, opcode, len(payload))
				}
			}
			if ping {
				expect(websocket.PingMessage, nil)
			}
			if pong {
				expect(websocket.PongMessage, []byte("pong"))
			}
			if len(messages) > 0 {
				expect(websocket.TextMessage, bytes.Join(messages, []byte{'\n'}))
			}
			if _, _, err := readFrame(r); !errors.Is(err, io.EOF) {
				t.Fatalf("something follows: %v", err)
			}
		}
	})
}

// The WebSocket library writes through the member: the answers to a ping and to a close frame. It also writes the close
// frame for a peer that breaks the protocol.
func TestLibraryWritesThroughTheMember(t *testing.T) {
	for name, test := range map[string]struct {
		say  func(client *websocket.Conn) error
		code int
	}{
		"a close frame": {func(c *websocket.Conn) error {
			return c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, "bye"))
		}, websocket.CloseGoingAway},
		"a broken frame": {func(c *websocket.Conn) error {
			_, err := c.NetConn().Write([]byte{0xff, 0xff, 0, 0, 0, 0})
			return err
		}, websocket.CloseProtocolError},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := running(t)
				closed := make(chan int, 2)
				m, p := seatPeer(t, l, func(code int) { closed <- code })
				l.Join("c", "u", m)
				pongs := 0
				p.conn.SetPongHandler(func(data string) error {
					if data == "are you there?" {
						pongs++
					}
					return nil
				})
				testenv.Must(t, p.conn.WriteMessage(websocket.PingMessage, []byte("are you there?")))
				synctest.Wait()
				l.Room("c").Broadcast(Rain, []byte("wave")) // a pong that is due does not hold it up
				synctest.Wait()
				p.reads()
				synctest.Wait()
				if pongs != 1 || len(p.got()) != 1 {
					t.Errorf("%d pongs and %d messages were read, want one of each", pongs, len(p.got()))
				}
				testenv.Must(t, test.say(p.conn))
				testenv.Equal(t, p.lastFrame().code, test.code, "the peer received")
				if code := <-closed; code != websocket.CloseAbnormalClosure || l.Members() != 0 {
					t.Errorf("closed with %d, %d online", code, l.Members())
				}
			})
		})
	}
}

func TestNobodyElseWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m, p := seatPeer(t, l, nil)
		p.reads()
		conn := socketOfMember(t, m)
		if _, err := conn.Write(appendMessages(nil, []frame{{bytes: []byte("past the member")}})); !errors.Is(err,
			errForeignWrite) {
			t.Errorf("a write past the member: %v", err)
		}
		m.Send([]byte("result"))
		synctest.Wait()
		testenv.Equal(t, p.got(), []string{"result"}, "got")
	})
}

func socketOfMember(tb testing.TB, m *Member) *Socket {
	tb.Helper()
	s, ok := m.conn.(*Socket)
	if !ok {
		tb.Fatalf("the member writes to a %T", m.conn)
	}
	return s
}
