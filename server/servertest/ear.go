package servertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/room"
)

// Ear is a player who records the messages received, with their times.
type Ear struct {
	mu    sync.Mutex
	heard []Heard
}

// Heard is one message.
type Heard struct {
	At   int64 // Unix ms
	Kind string
	Data []byte
}

// Connect opens a WebSocket over a pipe, which works with a fake clock, and records its messages.
func (e *Ear) Connect(t *testing.T) *room.Socket {
	t.Helper()
	near, far := net.Pipe()
	socket := room.NewSocket(near)
	upgraded := make(chan *websocket.Conn, 1)
	go func() {
		in := bufio.NewReader(near)
		r, err := http.ReadRequest(in)
		if err != nil {
			panic(err)
		}
		conn, err := (&websocket.Upgrader{}).Upgrade(hijacker{httptest.NewRecorder(), socket, in}, r, nil)
		if err != nil {
			panic(err)
		}
		upgraded <- conn
	}()
	dialer := websocket.Dialer{
		NetDialContext: func(context.Context, string, string) (net.Conn, error) { return far, nil },
	}
	client, _, err := dialer.Dial("ws://rain.example/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			_, data, err := client.ReadMessage()
			if err != nil {
				return
			}
			e.hear(data)
		}
	}()
	conn := <-upgraded
	go func() { // as in the gateway: the pongs must be read
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
	return socket
}

type hijacker struct {
	http.ResponseWriter
	conn net.Conn
	in   *bufio.Reader
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(h.in, bufio.NewWriter(h.conn)), nil
}

func (e *Ear) hear(frame []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		var m struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		e.heard = append(e.heard, Heard{time.Now().UnixMilli(), m.Type, bytes.Clone(line)})
	}
}

// Of returns the messages of one type, in the order of their arrival.
func (e *Ear) Of(kind string) []Heard {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []Heard
	for _, h := range e.heard {
		if h.Kind == kind {
			found = append(found, h)
		}
	}
	return found
}
