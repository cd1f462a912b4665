package e2e

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/wire"
)

// socket opens one; nil where the node has no place for it, or none yet.
func (h *hostile) socket() *websocket.Conn {
	dialer := websocket.Dialer{Subprotocols: []string{wire.Subprotocol}, HandshakeTimeout: 30 * time.Second}
	conn, answer, err := dialer.DialContext(h.t.Context(), h.n.ws(), nil)
	if answer != nil {
		_ = answer.Body.Close()
		if answer.StatusCode >= 500 && answer.StatusCode != http.StatusServiceUnavailable {
			h.t.Errorf("the upgrade: %s", answer.Status)
		}
	}
	if err != nil {
		return nil
	}
	go func() { _, _ = io.Copy(io.Discard, conn.NetConn()) }() // ends with the connection
	return conn
}

// greet sends a valid hello, and reports whether that was possible.
func (h *hostile) greet(conn *websocket.Conn) bool {
	hello := `{"type":"hello","id":1,"token":"` + h.player + `","campaign":"` + h.campaign + `"}`
	return conn.WriteMessage(websocket.TextMessage, []byte(hello)) == nil
}

// message is one of the protocol, or nearly.
func (h *hostile) message(r *rand.Rand) string {
	quoted := strconv.Quote
	id := strconv.Itoa(r.IntN(1000))
	drop := strconv.Itoa(r.IntN(300)) + "." + strconv.Itoa(r.IntN(50))
	of := []map[string]string{
		{"type": quoted("hello"), "id": id, "token": quoted(h.player), "campaign": quoted(h.campaign)},
		{"type": quoted("join"), "id": id, "campaign": quoted(h.campaign)},
		{"type": quoted("tap"), "id": id, "drop": quoted(drop)},
		{"type": quoted("tap"), "id": quoted(id), "drop": quoted(drop)},
		{"type": quoted("ping"), "id": id, "t": strconv.FormatInt(time.Now().UnixMilli(), 10)},
		{"type": quoted("token"), "id": id, "token": quoted(h.player)},
		{"type": word(r)},
	}
	return object(r, of[r.IntN(len(of))])
}

// talk says some messages over one connection, mostly after a good hello, for as long as it is listened to.
func (h *hostile) talk(r *rand.Rand) {
	conn := h.socket()
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if r.IntN(8) > 0 && !h.greet(conn) {
		return
	}
	for range 1 + r.IntN(60) {
		kind := websocket.TextMessage
		switch r.IntN(40) {
		case 0:
			kind = websocket.BinaryMessage
		case 1:
			_ = conn.WriteControl(websocket.PingMessage, []byte("x"), time.Now().Add(time.Second))
		case 2:
			_ = conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(time.Second))
		}
		if conn.WriteMessage(kind, []byte(h.message(r))) != nil {
			return
		}
		h.counted(&h.messages)
	}
}

// flood sends cheap messages as fast as it can, until it is closed.
func (h *hostile) flood(r *rand.Rand) {
	conn := h.socket()
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if !h.greet(conn) {
		return
	}
	text := []byte(h.message(r))
	for range 5_000 {
		if conn.WriteMessage(websocket.TextMessage, text) != nil {
			return
		}
		h.counted(&h.messages)
	}
}
