package server

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
)

// TestBehindHAProxy: HAProxy names its clients in a PROXY header or in X-Forwarded-For. Each address has limits of its
// own, and what clients say of themselves is not believed, through the proxy or past it.
func TestBehindHAProxy(t *testing.T) {
	cfg := ownConfig("")
	cfg.GuestRate, cfg.PerAddress = 0.001, 3 // with a burst of one guest
	cfg.Proxies, cfg.ProxyProtocol = []string{"127.0.0.1"}, true
	serveOn(t, cfg, func(s *Server) {
		node, campaign := s.Addr().String(), demoOf(t, s)
		for network, addr := range map[string]string{
			"127.0.1.": testenv.StartHAProxy(t, "  mode tcp\n  server node "+node+" send-proxy-v2").Addr,
			"127.0.2.": testenv.StartHAProxy(t, "  mode http\n  option forwardfor\n  server node "+node).Addr,
			"127.0.3.": node,
		} {
			t.Run(network, func(t *testing.T) { limitsOf(t, addr, campaign, network+"1", network+"2") })
		}
	})
}

// limitsOf has two clients use up the limits of the first.
func limitsOf(t *testing.T, addr, campaign, first, other string) {
	t.Helper()
	dial := func(from string) func(context.Context, string, string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext
	}
	var guest struct {
		Token string `json:"token"`
	}
	makeGuest := func(want int, from, forwardedFor string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/api/v1/guests", nil)
		testenv.Must(t, err)
		if forwardedFor != "" {
			r.Header.Set("X-Forwarded-For", forwardedFor)
		}
		answer, err := (&http.Transport{DialContext: dial(from), DisableKeepAlives: true}).RoundTrip(r)
		testenv.Must(t, err)
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != want {
			t.Errorf("a guest of %s, who says %q: %d, want %d", from, forwardedFor, answer.StatusCode, want)
		}
		if want == http.StatusCreated {
			testenv.Must(t, json.NewDecoder(answer.Body).Decode(&guest))
		}
	}
	// play opens a socket until the test ends, and reports whether it was welcomed.
	play := func(from string) bool {
		dialer := websocket.Dialer{NetDialContext: dial(from), Subprotocols: []string{"redrain.v1"}}
		socket, answer, err := dialer.DialContext(t.Context(), "ws://"+addr+"/ws", nil)
		if answer != nil {
			_ = answer.Body.Close()
		}
		if err != nil {
			return false
		}
		t.Cleanup(func() { _ = socket.Close() })
		testenv.Must(t, socket.WriteJSON(map[string]any{"type": "hello", "id": 1, "token": guest.Token,
			"campaign": campaign}))
		_, text, err := socket.ReadMessage()
		return err == nil && strings.Contains(string(text), `"welcome"`)
	}
	makeGuest(http.StatusCreated, first, "")
	for _, said := range []string{"", "198.51.100.1", "127.0.0.1", other} {
		makeGuest(http.StatusTooManyRequests, first, said)
	}
	makeGuest(http.StatusCreated, other, "198.51.100.1")
	for range 3 {
		// The connections of the requests before may still be open.
		testenv.Eventually(t, 20*time.Second, "a place for a player", func() bool { return play(first) })
	}
	if play(first) {
		t.Error("a fourth connection of the same has a place")
	}
	if !play(other) {
		t.Error("no place for a player of another")
	}
}
