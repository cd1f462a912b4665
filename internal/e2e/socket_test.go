package e2e

import (
	"errors"
	"net/http"
	"testing"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/room"
)

// TestConnectionIsRefused covers refusals before a hello, and of guests. A client that reads [wire.LateHello] comes
// back.
func TestConnectionIsRefused(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	cfg := setting{}.config()
	cfg.AllowedOrigins = []string{"https://party.example"}
	off := false
	cfg.Guests = &off
	n := startNode(t, cfg)
	api := newAPIClient(t, n)
	api.want(api.call("POST", "/guests", ""), 403, "guests_off")
	for origin, want := range map[string]int{
		n.url: 0, "https://party.example": 0, "https://evil.example": room.CodeOrigin, "null": room.CodeOrigin,
	} {
		d := websocket.Dialer{Subprotocols: []string{wire.Subprotocol}}
		conn, _, err := d.DialContext(t.Context(), n.ws(), http.Header{"Origin": {origin}})
		must(t, err)
		must(t, conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"ping","id":1,"t":1}`)))
		_, _, err = conn.ReadMessage()
		code := 0
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			code, err = closed.Code, nil
		}
		if err != nil || code != want {
			t.Errorf("origin %s: close code %d (%v), want %d", origin, code, err, want)
		}
		_ = conn.Close()
	}
	late := dial(t, n)
	wantClose(t, late, room.CodeProtocol)
	if closed, ok := errors.AsType[*websocket.CloseError](late.closed); !ok || closed.Text != wire.LateHello {
		t.Errorf("closed without a hello: %v", late.closed)
	}
}
