package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestAnEveningBehindProxies plays an evening through the shipped configurations of proxies, with TLS ended there.
func TestAnEveningBehindProxies(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, node, certificate string) (addr string){
		"haproxy": func(t *testing.T, node, certificate string) string {
			t.Helper()
			port := " port " + node[strings.LastIndex(node, ":")+1:] // of health
			return testenv.StartHAProxyWith(t, shipped(t, "haproxy.cfg", "bind :80\n", "\n",
				"# bind :443", "bind LISTEN", "/etc/haproxy/rain.pem", certificate,
				"172.30.0.21:8080", node+port, "172.30.0.22:8080", node+port,
				"maxconn 100000", "maxconn 8000")).Addr
		},
		"nginx": func(t *testing.T, node, certificate string) string {
			t.Helper()
			config := shipped(t, "nginx.conf", "listen 80;", "", "# listen 443", "listen LISTEN",
				"# ssl_certificate ", "ssl_certificate ", "# ssl_certificate_key ", "ssl_certificate_key ",
				"/etc/nginx/rain.crt", certificate, "/etc/nginx/rain.key", certificate,
				"172.30.0.21:8080", node, "172.30.0.22:8080", node)
			_, section, _ := strings.Cut(config, "\nhttp {\n")
			return testenv.StartNginx(t, strings.TrimSuffix(section, "}\n")).Addr
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

// shipped is a file of deploy/balancers, with pairs of texts in it and their replacements.
func shipped(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	config := string(testenv.Got(os.ReadFile(filepath.Join("..", "..", "deploy", "balancers", name))).Must(t))
	for pair := range slices.Chunk(pairs, 2) {
		if strings.Count(config, pair[0]) != 1 {
			t.Fatalf("%s has not one %q", name, pair[0])
		}
		config = strings.Replace(config, pair[0], pair[1], 1)
	}
	return config
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
