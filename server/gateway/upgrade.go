package gateway

import (
	"bufio"
	"net"
	"net/http"

	"redrain/internal/ws"
	"redrain/room"
)

// takeover makes an upgrade go through a room.Socket, so that from then on nobody writes to the connection but its
// member: not even the WebSocket library, which would answer pings and close frames from the goroutine that reads.
// Below that is a ws.Conn, so that the library need not read what is plain.
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
