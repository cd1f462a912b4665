package gateway

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/room"
)

// fragment is a frame of a client with a mask of zeros.
func fragment(first byte, payload string) []byte {
	return append([]byte{first, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
}

const begins, goesOn, ends = 0x01, 0x00, 0x80 // of a text in fragments

// A message is read to its end in however many pieces it comes; in pieces without end and without anything in them it
// is too large, and not waited for.
func TestAMessageInPieces(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	c := d.play("u")
	message := `{"type":"ping","id":7,"t":1,"x":"`
	message += strings.Repeat("x", wire.MaxRequest-len(message)-2) + `"}`
	pieces := fragment(begins, "")
	for i := range len(message) {
		pieces = append(pieces, fragment(goesOn, message[i:i+1])...)
	}
	testenv.Must(t, testenv.Err(c.conn.NetConn().Write(append(pieces, fragment(ends, "")...))))
	c.hear("pong")

	endless := append(fragment(begins, ""), bytes.Repeat(fragment(goesOn, ""), mostPieces/3)...)
	testenv.Must(t, testenv.Err(c.conn.NetConn().Write(endless)))
	testenv.Equal(t, c.closed(), websocket.CloseMessageTooBig, "empty fragments without end: closed with")
}

// What a message in pieces costs is what came over the line.
func TestPiecesCost(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	c := d.play("u")
	many := append(fragment(begins, ""), bytes.Repeat(fragment(goesOn, ""), 1_000)...)
	many = append(many, fragment(ends, `{"type":"ping","id":1,"t":1}`)...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c.conn.NetConn().SetWriteDeadline(time.Now().Add(time.Minute)) == nil {
			if _, err := c.conn.NetConn().Write(many); err != nil {
				return
			}
		}
	}()
	answered, code := 0, 0
	for code == 0 {
		heard, err := c.next()
		if end, ok := err.(*websocket.CloseError); ok { //nolint:errorlint // as the library returns it
			code = end.Code
		} else if err != nil {
			t.Fatal(err)
		}
		answered += strings.Count(string(heard), `"type":"`+wire.TypePong+`"`)
	}
	_ = c.conn.Close()
	<-done
	// 6 KB each is twelve messages and more: the budget of one who taps 20 times a second has fifty of them.
	if code != room.CodeTooManyBad || answered > 100 {
		t.Errorf("%d were answered, and it ended with %d", answered, code)
	}
}
