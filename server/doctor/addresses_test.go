package doctor

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/server/config"
)

// writeCertificate writes a certificate of 127.0.0.1 until a time, and its key.
func writeCertificate(t *testing.T, until time.Time) (cert, key string, is *x509.Certificate) {
	t.Helper()
	private := testenv.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(until.UnixNano()), NotBefore: time.Unix(0, 0),
		NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der := testenv.Got(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)).Must(t)
	text := testenv.Got(x509.MarshalPKCS8PrivateKey(private)).Must(t)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testenv.Must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	testenv.Must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600))
	return cert, key, testenv.Got(x509.ParseCertificate(der)).Must(t)
}

// startSite starts an HTTPS server, which roots trust until a time. It has a key set and a discovery document, and
// answers other requests as a receiver of signed ones does. issuer is the name in the document; "": its address.
func startSite(t *testing.T, roots *x509.CertPool, issuer string, until time.Time) string {
	t.Helper()
	cert, key, is := writeCertificate(t, until)
	roots.AddCert(is)
	public, _, err := ed25519.GenerateKey(rand.Reader)
	testenv.Must(t, err)
	var site *httptest.Server
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":%q}]}`,
			base64.RawURLEncoding.EncodeToString(public))
	})
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, cmp.Or(issuer, site.URL), site.URL+"/jwks")
	})
	mux.HandleFunc("POST /", func(http.ResponseWriter, *http.Request) { t.Error("a POST was sent") })
	site = httptest.NewUnstartedServer(mux)
	site.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	site.TLS = &tls.Config{MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{testenv.Got(tls.LoadX509KeyPair(cert, key)).Must(t)}}
	site.StartTLS()
	t.Cleanup(site.Close)
	return site.URL
}

// TestEachFaultOfAnAddress has one row for each finding, with just that wrong. The other back ends are in-process.
func TestEachFaultOfAnAddress(t *testing.T) {
	w := &world{roots: x509.NewCertPool(), cfg: config.Default()}
	year, soon, past := time.Now().AddDate(1, 0, 0), time.Now().AddDate(0, 0, 13), time.Now().Add(-time.Hour)
	site, ends, ended := startSite(t, w.roots, "", year), startSite(t, w.roots, "", soon),
		startSite(t, w.roots, "", past)
	other, unknown := startSite(t, w.roots, "https://id.example", year), startSite(t, x509.NewCertPool(), "", year)
	w.cfg.JWKSURL, w.cfg.OIDCIssuer, w.cfg.ProviderURL, w.cfg.RiskURL = site+"/jwks", site, site+"/pay", site+"/risk"
	w.cfg.DataDir, w.cfg.MaxConnections = t.TempDir(), 1
	certificate := func(until time.Time) func(cfg *config.Config) {
		return func(cfg *config.Config) { cfg.TLSCert, cfg.TLSKey, _ = writeCertificate(t, until) }
	}
	const gone = "https://user:hunter2@127.0.0.1:1/?token=hunter2"
	for _, c := range []struct {
		name   string
		change func(cfg *config.Config)
		want   []string
	}{
		{"nothing", certificate(year), nil},
		{"no keys", func(cfg *config.Config) { cfg.JWKSURL = site + "/pay" }, []string{"fail jwks_url: 405"}},
		{"keys end soon", func(cfg *config.Config) { cfg.JWKSURL = ends + "/jwks" },
			[]string{"warn jwks_url: but its certificate ends on"}},
		{"keys are away", func(cfg *config.Config) { cfg.JWKSURL = gone }, []string{"fail jwks_url: refused"}},
		{"another issuer", func(cfg *config.Config) { cfg.OIDCIssuer = other },
			[]string{`fail oidc_issuer: "https://id.example"; set --oidc-issuer`}},
		{"issuer is away", func(cfg *config.Config) { cfg.OIDCIssuer = gone }, []string{"fail oidc_issuer: refused"}},
		{"provider ended", func(cfg *config.Config) { cfg.ProviderURL = ended },
			[]string{"fail provider_url: expired"}},
		{"provider unknown", func(cfg *config.Config) { cfg.ProviderURL = unknown },
			[]string{"fail provider_url: unknown authority"}},
		{"provider is away", func(cfg *config.Config) { cfg.ProviderURL = gone },
			[]string{"fail provider_url: refused"}},
		{"risk ends soon", func(cfg *config.Config) { cfg.RiskURL = ends }, []string{"warn risk_url: renew it"}},
		{"risk is away", func(cfg *config.Config) { cfg.RiskURL = gone }, []string{"fail risk_url: refused"}},
		{"own ends soon", certificate(soon), []string{"warn tls_cert: it can be served, but its certificate ends on"}},
		{"own ended", certificate(past), []string{"fail tls_cert: ended on"}},
		{"few descriptors", func(cfg *config.Config) { cfg.MaxConnections = 1 << 30 },
			[]string{"warn descriptors: ulimit -n"}},
		{"no directory", func(cfg *config.Config) { cfg.DataDir = "" }, []string{"warn data_dir: set --data-dir"}},
	} {
		cfg := w.cfg
		c.change(&cfg)
		got := w.examine(t, cfg)
		wants(t, c.name, got, c.want...)
		if text := fmt.Sprint(got); strings.Contains(text, "hunter2") {
			t.Errorf("%s: a secret is in %s", c.name, text)
		}
	}
}
