package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestAnEveningOnOtherServers plays an evening on servers that work like those of the other tests.
func TestAnEveningOnOtherServers(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for name, of := range map[string]func(t *testing.T, s *setting) (lose func()){
		"valkey": func(t *testing.T, s *setting) func() {
			t.Helper()
			valkey := testenv.StartValkey(t)
			s.redis = valkey.Addr
			return func() { flush(t, valkey) }
		},
		"galera": func(t *testing.T, s *setting) func() {
			t.Helper()
			s.mysql = testenv.StartGalera(t).DSN
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Medium)
			s := realSetting(t)
			lose := of(t, &s)
			evening(t, startNodes(t, streamConfig(s), 2), lose)
		})
	}
}

// TestAnEveningBehindProxies plays an evening through proxies that end TLS.
func TestAnEveningBehindProxies(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, node, certificate string) (addr string){
		"haproxy": func(t *testing.T, node, certificate string) string {
			t.Helper()
			secure := testenv.Addr(t)
			testenv.StartHAProxy(t, fmt.Sprintf(`  bind %s ssl crt %s
  mode http
  option forwardfor
  option httpchk GET /readyz
  timeout http-keep-alive 60s
  server node %s check inter 1s`, secure, certificate, node))
			return secure
		},
		"nginx": func(t *testing.T, node, certificate string) string {
			t.Helper()
			return testenv.StartNginx(t, fmt.Sprintf(`
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  upstream redrain { server %s; keepalive 16; keepalive_timeout 60s; }
  server {
    listen LISTEN ssl;
    ssl_certificate %s;
    ssl_certificate_key %[2]s;
    location / {
      proxy_pass http://redrain;
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_read_timeout 75s;
      proxy_buffering off;
    }
  }`, node, certificate)).Addr
		},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Medium)
			cfg := realSetting(t).config()
			cfg.Proxies = []string{"127.0.0.1"}
			n := startNode(t, cfg)
			certificate, trust := certificateFile(t)
			proxied := nodeBehind(t, "https://"+start(t, n.url[len("http://"):], certificate), trust)
			testenv.Eventually(t, 20*time.Second, "the proxy has the node", func() bool {
				return testenv.Err(proxied.client.Lobby(t.Context())) == nil
			})
			evening(t, []*node{proxied}, nil)
		})
	}
}

// certificateFile is a file with the certificate of net/http/httptest for 127.0.0.1 and its key, and the configuration
// of clients who trust it.
func certificateFile(t *testing.T) (path string, trust *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key := testenv.Got(x509.MarshalPKCS8PrivateKey(pair.PrivateKey)).Must(t)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	path = filepath.Join(t.TempDir(), "pair.pem")
	testenv.Must(t, os.WriteFile(path, text, 0o600))
	return path, s.Client().Transport.(*http.Transport).TLSClientConfig
}
