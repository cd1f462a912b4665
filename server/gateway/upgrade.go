package gateway

import (
	"bufio"
	"net"
	"net/http"

	"redrain/internal/ws"
	"redrain/room"
)

// takeover passes an upgrade through a room.Socket, so that from then on only the member writes to the connection.
// Otherwise the WebSocket library would answer pings and close frames from the reading goroutine. Below that is a
// ws.Conn, so that the library need not read plain frames.
type takeover struct {
	http.ResponseWriter

	socket *room.Socket // after the upgrade, as plain is
	plain  *ws.Conn
}

// Hijack is called by the upgrade.
func (t *takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.plain = &ws.Conn{Conn: conn}
	t.socket = room.NewSocket(t.plain)
	return t.socket, buffered, nil
}
