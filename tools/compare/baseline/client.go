package baseline

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/wire"
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

	// The reading goroutine's.
	user string
	hub  *hub
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
		_, data, err := c.conn.ReadMessage()
		if err != nil {
			return
		}
		var r request
		if json.Unmarshal(data, &r) != nil || !c.handle(r) {
			return
		}
	}
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

// handle answers a message; false where the connection is to end.
func (c *client) handle(r request) bool {
	switch {
	case r.Type == "hello" && c.hub == nil:
		return c.enter(r)
	case r.Type == "tap" && c.hub != nil:
		return c.queue(encode(c.tap(r)))
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

func (c *client) tap(r request) result {
	m := result{Type: "result", ID: r.ID, Drop: r.Drop}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	code, id, amount, err := c.s.store.grab(ctx, c.hub.campaign, c.user, r.Drop)
	switch {
	case err != nil:
		m.Outcome = "unavailable"
		c.s.log.Warn("no decision", "err", err)
	case code == codeAlready:
		m.Outcome = "already"
	case code == codeSoldOut:
		m.Outcome = "sold_out"
	default:
		m.Outcome, m.Amount, m.Packet = "won", amount, strconv.FormatInt(id, 10)
		m.Claim = c.hub.campaign + "-" + m.Packet
	}
	return m
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
			if c.conn.SetWriteDeadline(time.Now().Add(writeWait)) != nil ||
				c.conn.WriteMessage(websocket.PingMessage, nil) != nil {
				return
			}
		}
	}
}

// flush writes a message and those that are queued behind it as one frame, as the chat example does.
func (c *client) flush(message []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return err
	}
	w, err := c.conn.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	if _, err := w.Write(message); err != nil {
		return err
	}
	for range len(c.send) {
		if _, err := w.Write([]byte{'\n'}); err != nil {
			return err
		}
		if _, err := w.Write(<-c.send); err != nil {
			return err
		}
	}
	return w.Close()
}
