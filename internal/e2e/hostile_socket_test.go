package e2e

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
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
	if r.IntN(8) > 0 {
		hello := `{"type":"hello","id":1,"token":"` + h.player + `","campaign":"` + h.campaign + `"}`
		if conn.WriteMessage(websocket.TextMessage, []byte(hello)) != nil {
			return
		}
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

// flood says what is cheap to say as fast as it can, until it is sent away.
func (h *hostile) flood(r *rand.Rand) {
	conn := h.socket()
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	hello := `{"type":"hello","id":1,"token":"` + h.player + `","campaign":"` + h.campaign + `"}`
	if conn.WriteMessage(websocket.TextMessage, []byte(hello)) != nil {
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

// breakFrames writes what is nearly WebSocket: frames with any header, cut, or followed by anything.
func (h *hostile) breakFrames(r *rand.Rand) {
	conn := h.socket()
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if r.IntN(2) == 0 {
		hello := `{"type":"hello","id":1,"token":"` + h.player + `","campaign":"` + h.campaign + `"}`
		if conn.WriteMessage(websocket.TextMessage, []byte(hello)) != nil {
			return
		}
	}
	for range 1 + r.IntN(30) {
		frame := []byte{byte(r.Uint32()), byte(r.Uint32())}
		switch r.IntN(4) {
		case 0:
			frame = []byte{0x81, 0x80 | byte(r.IntN(128))}
		case 1:
			frame = []byte{byte(r.IntN(16)), 0x80 | byte(r.IntN(128))} // fragments
		case 2:
			frame = []byte{0x80 | byte(8+r.IntN(3)), 0x80 | byte(r.IntN(126))}
		}
		rest := make([]byte, r.IntN(300))
		for i := range rest {
			rest[i] = byte(r.Uint32())
		}
		if _, err := conn.NetConn().Write(append(frame, rest...)); err != nil {
			return
		}
		h.counted(&h.messages)
	}
	h.counted(&h.sockets)
}

// breakHTTP writes what is nearly HTTP.
func (h *hostile) breakHTTP(r *rand.Rand) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(h.t.Context(), "tcp", strings.TrimPrefix(h.n.url, "http://"))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // what waits for more is not waited for
	lines := []string{
		"GET /ws HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: redrain.v1",
		"X-Forwarded-For: 1.2.3.4, x", "Content-Length: " + strconv.Itoa(r.IntN(100)), "Transfer-Encoding: chunked",
		"Accept: text/csv;q=1e9, */*", "Cookie: " + strings.Repeat("c", 1<<r.IntN(16)),
		"Authorization: Bearer " + strings.Repeat("a.", r.IntN(3000)),
	}
	if r.IntN(2) == 0 {
		lines[0] = "POST /api/v1/guests HTTP/1." + strconv.Itoa(r.IntN(3))
	}
	kept := lines[:2]
	for _, line := range lines[2:] {
		if r.IntN(2) == 0 {
			kept = append(kept, mangle(r, line))
		}
	}
	text := mangle(r, strings.Join(kept, "\r\n")+"\r\n\r\n"+word(r))
	if _, err := io.WriteString(conn, text); err != nil {
		return
	}
	h.counted(&h.sockets)
	answer := make([]byte, 64)
	n, _ := conn.Read(answer)
	if is := string(answer[:n]); strings.HasPrefix(is, "HTTP/1.1 5") && !strings.HasPrefix(is, "HTTP/1.1 503") &&
		!strings.HasPrefix(is, "HTTP/1.1 501") && !strings.HasPrefix(is, "HTTP/1.1 505") {
		h.t.Errorf("%q: %s", text, is)
	}
}
