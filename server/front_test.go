package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/pires/go-proxyproto"

	"redrain/internal/testenv"
)

// TestTheFront checks TLS with HTTP/2, sockets over it, and the monitoring routes on an address of their own. A PROXY
// header or X-Forwarded-For gives the client's address, by which guests and connections are limited.
func TestTheFront(t *testing.T) {
	cfg := ownConfig("")
	cfg.AdminListen, cfg.GuestRate = "localhost:0", 0.1 // with a burst of one
	cfg.PerAddress = 3
	cfg.Proxies, cfg.ProxyProtocol = []string{"127.0.0.0/8"}, true
	trust := &tls.Config{RootCAs: x509.NewCertPool(), NextProtos: []string{"h2", "http/1.1"}}
	cfg.TLSCert, cfg.TLSKey = certificate(t, trust.RootCAs)
	serveOn(t, cfg, func(s *Server) {
		public, admin := "https://"+s.Addr().String(), "http://"+s.admin.listener.Addr().String()
		as := func(source string) *http.Client {
			transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: trust, DialContext: dialAs(source)}
			t.Cleanup(transport.CloseIdleConnections)
			return &http.Client{Transport: transport}
		}
		status := func(c *http.Client, method, url, forwarded string) (int, *http.Response) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
			testenv.Must(t, err)
			if forwarded != "" {
				r.Header.Set("X-Forwarded-For", forwarded)
			}
			answer, err := c.Do(r)
			testenv.Must(t, err)
			t.Cleanup(func() { _ = answer.Body.Close() })
			return answer.StatusCode, answer
		}

		if code, answer := status(as(""), "GET", public+"/api/v1/lobby", ""); code != 200 || answer.ProtoMajor != 2 {
			t.Errorf("the lobby: %d, %s", code, answer.Proto)
		}
		for path, want := range map[string]int{
			"/healthz": 200, "/readyz": 200, "/metrics": 200, "/debug/pprof/": 200, "/debug/pprof/heap": 200,
			"/api/v1/lobby": 404,
		} {
			if code, _ := status(new(http.Client), "GET", admin+path, ""); code != want {
				t.Errorf("the admin's %s: %d, want %d", path, code, want)
			}
			if code, _ := status(as(""), "GET", public+path, ""); (code == 200) != (want == 404) {
				t.Errorf("the public %s: %d", path, code)
			}
		}

		first, again, other := as("198.51.100.1:5000"), as("198.51.100.1:6000"), as("198.51.100.2:5000")
		guests := public + "/api/v1/guests"
		code, answer := status(first, "POST", guests, "")
		if code != 201 {
			t.Fatalf("a guest: %d", code)
		}
		if code, _ := status(again, "POST", guests, ""); code != 429 {
			t.Errorf("one more of this address: %d", code)
		}
		// A client behind the proxy cannot change its own address.
		if code, _ := status(other, "POST", guests, "198.51.100.9"); code != 201 {
			t.Errorf("one of another: %d", code)
		}
		if code, _ := status(other, "POST", guests, "198.51.100.8"); code != 429 {
			t.Errorf("one more of that: %d", code)
		}
		for forwarded, want := range map[string]int{"198.51.100.3": 201, "1.1.1.1, 198.51.100.1": 429} {
			if code, _ := status(as(""), "POST", guests, forwarded); code != want {
				t.Errorf("forwarded for %s: %d, want %d", forwarded, code, want)
			}
		}

		var guest struct {
			Token string `json:"token"`
		}
		testenv.Must(t, json.NewDecoder(answer.Body).Decode(&guest))
		dialer := websocket.Dialer{
			TLSClientConfig: &tls.Config{RootCAs: trust.RootCAs}, NetDialContext: dialAs("198.51.100.1:7000"),
			Subprotocols: []string{"redrain.v1"},
		}
		socket, upgrade, err := dialer.DialContext(t.Context(), "wss://"+s.Addr().String()+"/ws", nil)
		testenv.Must(t, err)
		defer func() { _, _ = upgrade.Body.Close(), socket.Close() }()
		hello := map[string]any{"type": "hello", "id": 1, "token": guest.Token, "campaign": demoOf(t, s)}
		testenv.Must(t, socket.WriteJSON(hello))
		if _, text, err := socket.ReadMessage(); err != nil || !strings.Contains(string(text), `"welcome"`) {
			t.Errorf("%s, %v", text, err)
		}
		// With the connections of its two clients, the address has all that it may have.
		for source, may := range map[string]bool{"198.51.100.1:8000": false, "198.51.100.2:8000": true} {
			dialer.NetDialContext = dialAs(source)
			another, upgrade, err := dialer.DialContext(t.Context(), "wss://"+s.Addr().String()+"/ws", nil)
			if (err == nil) != may {
				t.Errorf("a connection of %s: %v", source, err)
			}
			if err == nil {
				_, _ = upgrade.Body.Close(), another.Close()
			}
		}
	})
}

// dialAs dials with a PROXY header that names the client; "": without one.
func dialAs(source string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil || source == "" {
			return c, err
		}
		from, err := net.ResolveTCPAddr("tcp", source)
		if err == nil {
			_, err = proxyproto.HeaderProxyFromAddrs(2, from, c.RemoteAddr()).WriteTo(c)
		}
		return c, err
	}
}

// certificate writes one for this machine, and adds it to those that are trusted.
func certificate(t *testing.T, trusted *x509.CertPool) (cert, key string) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	trusted.AddCert(s.Certificate())
	private, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	testenv.Must(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		testenv.Must(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}
