package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/wire"
)

// dial connects to a server that serves the connection with peer. The returned channel receives the client's messages.
func dial(t *testing.T, peer func(*websocket.Conn)) *client.Socket {
	t.Helper()
	up := websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close() //nolint:errcheck // the peer may have closed it
		peer(conn)
	}))
	t.Cleanup(s.Close)
	socket, err := client.Dial(t.Context(), client.SocketOptions{URL: "ws" + strings.TrimPrefix(s.URL, "http")})
	testenv.Must(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	return socket
}

func TestSocket(t *testing.T) {
	t.Run("sends requests", func(t *testing.T) {
		requests := make(chan wire.Request, 4)
		s := dial(t, func(conn *websocket.Conn) {
			for range 4 {
				_, body, err := conn.ReadMessage()
				r, bad := wire.ParseRequest(body)
				if err != nil || bad != nil {
					t.Errorf("%s: %v, %v", body, err, bad)
				}
				requests <- r
			}
		})
		err := errors.Join(s.Hello(1, "t", "c"), s.Join(2, "d"), s.Tap(3, "7.3"), s.Ping(4, 5))
		testenv.Must(t, err)
		for _, want := range []wire.Request{
			{Type: wire.TypeHello, ID: "1", Token: "t", Campaign: "c"}, {Type: wire.TypeJoin, ID: "2", Campaign: "d"},
			{Type: wire.TypeTap, ID: "3", Drop: "7.3"}, {Type: wire.TypePing, ID: "4", T: 5},
		} {
			testenv.Equal(t, cmp.Diff(want, <-requests), "", "request")
		}
	})
	t.Run("receives each object of a frame", func(t *testing.T) {
		long := `{"drops":"` + strings.Repeat("x", 10_000) + `","type":"wave"}`
		s := dial(t, func(conn *websocket.Conn) {
			for _, frame := range []string{`{"type":"pong","t":1}` + "\n" + long, `{"type":"room"}`} {
				if err := conn.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
					t.Error(err)
				}
			}
			_, _, _ = conn.ReadMessage() // until the client has gone
		})
		for _, want := range []client.Message{
			{Type: "pong", Body: []byte(`{"type":"pong","t":1}`), First: true},
			{Type: "wave", Body: []byte(long)}, {Type: "room", Body: []byte(`{"type":"room"}`), First: true},
		} {
			got, err := s.Receive()
			if diff := cmp.Diff(want, got); err != nil || diff != "" || !json.Valid(got.Body) {
				t.Errorf("%v: %s", err, diff)
			}
		}
	})
}

func TestSocketEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		peer func(*websocket.Conn)
		want func(error) bool
	}{
		"closed with a code": {func(conn *websocket.Conn) {
			_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4003, "full"),
				time.Now().Add(time.Minute))
		}, func(err error) bool {
			closed, ok := errors.AsType[*client.ClosedError](err)
			return ok && closed.Code == 4003 && closed.Reason == "full"
		}},
		"lost": {func(conn *websocket.Conn) { _ = conn.NetConn().Close() }, func(err error) bool {
			_, closed := errors.AsType[*client.ClosedError](err)
			return !closed && !errors.Is(err, client.ErrProtocol)
		}},
		"broken": {func(conn *websocket.Conn) { _, _ = conn.NetConn().Write([]byte{0xf1, 0}) },
			func(err error) bool { return errors.Is(err, client.ErrProtocol) }},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := dial(t, tc.peer).Receive(); err == nil || !tc.want(err) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		defer s.Close()
		_, err := client.Dial(t.Context(), client.SocketOptions{URL: "ws" + strings.TrimPrefix(s.URL, "http")})
		refused, ok := errors.AsType[*client.RefusedError](err)
		if !ok || refused.RetryAfter() != 7*time.Second || !strings.Contains(err.Error(), "503") {
			t.Errorf("%v", err)
		}
	})
}

func TestClosedErrorRetry(t *testing.T) {
	for closed, want := range map[client.ClosedError]bool{
		{Code: 4000}: true, {Code: 4003}: true, {Code: 4004}: false, {Code: 4500}: false, {Code: 4507}: false,
		{Code: 1006}: true, {Code: 1009}: false, {Code: 4501}: false, {Code: 4501, Reason: wire.LateHello}: true,
		{Code: 4600}: true,
	} {
		if closed.Retry() != want {
			t.Errorf("%v: %v", &closed, !want)
		}
	}
}
