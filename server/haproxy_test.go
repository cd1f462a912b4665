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

// TestBehindHAProxy: with a PROXY header and with X-Forwarded-For, one address is limited and the others are not, in
// new guests and in connections; and what a client says of itself is not believed, through the proxy or past it.
func TestBehindHAProxy(t *testing.T) {
	cfg := ownConfig("")
	cfg.GuestRate, cfg.PerAddress = 0.001, 3 // with a burst of one guest
	cfg.Proxies, cfg.ProxyProtocol = []string{"127.0.0.1"}, true
	serveOn(t, cfg, func(s *Server) {
		node := s.Addr().String()
		for network, lines := range map[string]string{
			"127.0.1.": "  mode tcp\n  server node " + node + " send-proxy-v2",
			"127.0.2.": "  mode http\n  option forwardfor\n  server node " + node,
		} {
			t.Run(strings.Fields(lines)[1], func(t *testing.T) {
				b := &behind{T: t, addr: testenv.StartHAProxy(t, lines).Addr, campaign: demoOf(t, s)}
				b.limits(network)
			})
		}
		t.Run("past it", func(t *testing.T) {
			b := &behind{T: t, addr: node}
			if status, _ := b.guest("127.0.3.1", "198.51.100.1"); status != http.StatusCreated {
				t.Errorf("the first: %d", status)
			}
			if status, _ := b.guest("127.0.3.1", "198.51.100.2"); status != http.StatusTooManyRequests {
				t.Errorf("another name of the same: %d", status)
			}
		})
	})
}

// behind is what clients see that come through a proxy.
type behind struct {
	*testing.T
	addr     string
	campaign string
}

func (b *behind) limits(network string) {
	first, other := network+"1", network+"2"
	status, token := b.guest(first, "")
	if status != http.StatusCreated {
		b.Fatalf("a guest: %d", status)
	}
	for _, said := range []string{"", "198.51.100.1", "127.0.0.1", other} {
		if status, _ := b.guest(first, said); status != http.StatusTooManyRequests {
			b.Errorf("one more guest of the same, who says %q: %d", said, status)
		}
	}
	if status, _ := b.guest(other, "198.51.100.1"); status != http.StatusCreated {
		b.Errorf("a guest of another: %d", status)
	}
	for range 3 {
		// The connections of the requests before may be on their way out.
		testenv.Eventually(b.T, 20*time.Second, "a place for a player", func() bool { return b.play(first, token) })
	}
	if b.play(first, token) {
		b.Error("a fourth connection of the same has a place")
	}
	if !b.play(other, token) {
		b.Error("no place for a player of another")
	}
}

// dial comes from an address of this machine.
func (b *behind) dial(from string) func(context.Context, string, string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext
}

// guest asks for a guest's token, and may say in whose name.
func (b *behind) guest(from, forwardedFor string) (status int, token string) {
	b.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: b.dial(from), DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+b.addr+"/api/v1/guests", nil)
	testenv.Must(b, err)
	if forwardedFor != "" {
		r.Header.Set("X-Forwarded-For", forwardedFor)
	}
	answer, err := client.Do(r)
	testenv.Must(b, err)
	defer func() { _ = answer.Body.Close() }()
	var guest struct {
		Token string `json:"token"`
	}
	if answer.StatusCode == http.StatusCreated {
		testenv.Must(b, json.NewDecoder(answer.Body).Decode(&guest))
	}
	return answer.StatusCode, guest.Token
}

// play opens a socket that stays until the test ends, and tells whether it was welcomed.
func (b *behind) play(from, token string) bool {
	b.Helper()
	dialer := websocket.Dialer{NetDialContext: b.dial(from), Subprotocols: []string{"redrain.v1"}}
	socket, answer, err := dialer.DialContext(b.Context(), "ws://"+b.addr+"/ws", nil)
	if answer != nil {
		_ = answer.Body.Close()
	}
	if err != nil {
		return false
	}
	b.Cleanup(func() { _ = socket.Close() })
	hello := map[string]any{"type": "hello", "id": 1, "token": token, "campaign": b.campaign}
	if err := socket.WriteJSON(hello); err != nil {
		return false
	}
	_, text, err := socket.ReadMessage()
	return err == nil && strings.Contains(string(text), `"welcome"`)
}
