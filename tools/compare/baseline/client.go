package baseline

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/wire"
	"redrain/rain"
)

// The figures of gorilla's chat example, but for maxMessage, which is the protocol's.
const (
	writeWait  = 10 * time.Second
	pongWait   = 60 * time.Second
	pingPeriod = pongWait * 9 / 10
	sendBuffer = 256
	maxMessage = wire.MaxRequest
)

// client is one connection.
type client struct {
	s    *Server
	conn *websocket.Conn
	send chan []byte
	gone chan struct{} // closed by close
	once sync.Once

	writing sync.Mutex // held by who writes to conn

	// The reading goroutine's.
	user string
	hub  *hub
	in   []byte // the message that is read
	out  []byte // the result that is written
}

// close ends the connection. Any goroutine may call it.
func (c *client) close() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.conn.Close() // the readers and writers see it
	})
}

func (c *client) read() {
	defer c.leave()
	c.conn.SetReadLimit(maxMessage)
	_ = c.conn.SetReadDeadline(time.Now().Add(pongWait)) // a closed connection shows at the next read
	c.conn.SetPongHandler(func(string) error { return c.conn.SetReadDeadline(time.Now().Add(pongWait)) })
	for {
		data, err := c.next()
		if err != nil || !c.take(data) {
			return
		}
	}
}

// next reads a message. It is good until the next one.
func (c *client) next() ([]byte, error) {
	_, message, err := c.conn.NextReader()
	if err != nil {
		return nil, err
	}
	c.in = c.in[:0]
	for {
		if len(c.in) == cap(c.in) {
			c.in = slices.Grow(c.in, 256)
		}
		n, err := message.Read(c.in[len(c.in):cap(c.in)])
		c.in = c.in[:len(c.in)+n]
		if errors.Is(err, io.EOF) {
			return c.in, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// take answers a message; false where the connection is to end. A tap is read without reflection, decided and answered
// here; all else is rare.
func (c *client) take(data []byte) bool {
	if tap, ok := wire.ParseTap(data); ok && c.hub != nil {
		c.out = c.tap(c.out[:0], tap)
		return c.say(c.out) == nil
	}
	var r request
	return json.Unmarshal(data, &r) == nil && c.handle(r)
}

// say writes a message at once, from the goroutine that has made it: one write, and no other goroutine to wake.
func (c *client) say(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return err
	}
	return c.conn.WriteMessage(websocket.TextMessage, message)
}

func (c *client) leave() {
	c.close()
	if c.hub == nil {
		return
	}
	select {
	case c.hub.leaving <- c:
	case <-c.hub.ended:
	}
}

// handle answers a message that is no tap; false where the connection is to end.
func (c *client) handle(r request) bool {
	switch {
	case r.Type == "hello" && c.hub == nil:
		return c.enter(r)
	case r.Type == "ping":
		return c.queue(encode(pong{Type: "pong", ID: r.ID, T: r.T, ServerTime: time.Now().UnixMilli()}))
	default:
		return false
	}
}

// queue hands a message to the writing goroutine; false where the connection has ended.
func (c *client) queue(message []byte) bool {
	select {
	case c.send <- message:
		return true
	case <-c.gone:
		return false
	}
}

func (c *client) enter(r request) bool {
	user, err := c.s.verify(r.Token)
	if err != nil {
		return false
	}
	h := c.s.hub(r.Campaign)
	if h == nil {
		return false
	}
	c.user, c.hub = user, h
	select {
	case h.joining <- newcomer{c, r.ID}:
		return true
	case <-h.ended:
		return false
	}
}

// tap decides a tap, and appends its result to b.
func (c *client) tap(b []byte, t wire.Tap) []byte {
	packet, code, err := c.s.store.grab(c.hub.campaign, c.user, t.Drop.String())
	r := wire.TapResult{ID: t.ID, Drop: t.Drop, Campaign: c.hub.campaign, Packet: packet.ID,
		Amount: rain.Money(packet.Amount), Outcome: "won"}
	switch {
	case err != nil:
		r.Outcome = "unavailable"
		c.s.log.Warn("no decision", "err", err)
	case code == codeAlready:
		r.Outcome = "already"
	case code == codeSoldOut:
		r.Outcome = "sold_out"
	}
	return r.Append(b)
}

func (c *client) write() {
	ping := time.NewTicker(pingPeriod)
	defer ping.Stop()
	defer c.close()
	for {
		select {
		case <-c.gone:
			return
		case message := <-c.send:
			if c.flush(message) != nil {
				return
			}
		case <-ping.C:
			if c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWait)) != nil {
				return
			}
		}
	}
}

// flush writes a message and those that are queued behind it as one frame, as the chat example does.
func (c *client) flush(message []byte) error {
	for range len(c.send) {
		message = append(append(slices.Clip(message), '\n'), <-c.send...)
	}
	return c.say(message)
}
