package server

import (
	"bufio"
	"net"
	"net/http"

	"redrain/room"
)

// takeover makes an upgrade go through a room.Socket, so that from then on nobody writes to the connection but its member: not even the
// WebSocket library, which would answer pings and close frames from the goroutine that reads.
type takeover struct {
	http.ResponseWriter

	socket *room.Socket // after the upgrade
}

// Hijack is called by the upgrade.
func (t *takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.socket = room.NewSocket(conn)
	return t.socket, buffered, nil
}
