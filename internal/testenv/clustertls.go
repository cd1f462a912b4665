package testenv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// SecureCluster is a Redis Cluster that speaks TLS only.
type SecureCluster struct {
	Addrs []string
	Roots *x509.CertPool // with the authority of the nodes' certificates
	CA    string         // the authority's certificate, a PEM file
}

// StartSecureCluster starts a Redis Cluster as [StartRedisCluster] does. Each node has an IP address of its own, and a
// certificate for it, or for the host shared if that is not "".
func StartSecureCluster(t T, shared string) SecureCluster {
	t.Helper()
	require(t, redisServer.needs...)
	dir := SharedDir(t, "certificates")
	ca, err := newAuthority(dir)
	if err != nil {
		t.Fatalf("testenv: make certificates: %v", err)
	}
	c := SecureCluster{Roots: x509.NewCertPool(), CA: ca.file, Addrs: make([]string, 2*masters)}
	c.Roots.AddCert(ca.cert)
	ownCluster(t, func(i int) (*clusterNode, error) {
		host := fmt.Sprintf("127.0.0.%d", 11+i)
		name := host
		if shared != "" {
			name = shared
		}
		cert, key, err := ca.issue(filepath.Join(dir, host), name)
		if err != nil {
			return nil, err
		}
		secure := &tls.Config{RootCAs: c.Roots, ServerName: name, MinVersion: tls.VersionTLS12}
		prog := redisServer
		prog.probe = func(ctx context.Context, p *process) error {
			rdb := redis.NewClient(&redis.Options{Addr: net.JoinHostPort(host, p.port.String()), TLSConfig: secure})
			defer func() { _ = rdb.Close() }()
			return rdb.Ping(ctx).Err()
		}
		node, err := launchClusterNode(prog, host, secure, "--bind", host, "--cluster-announce-ip", host,
			"--tls-cluster", "yes", "--tls-replication", "yes", "--tls-auth-clients", "no", "--tls-cert-file", cert,
			"--tls-key-file", key, "--tls-ca-cert-file", ca.file)
		if err == nil {
			c.Addrs[i] = node.rdb.Options().Addr
		}
		return node, err
	})
	return c
}

// authority signs certificates.
type authority struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	file   string
	serial atomic.Int64
}

func newAuthority(dir string) (a *authority, err error) {
	a = &authority{file: filepath.Join(dir, "ca.pem")}
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := a.template("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, writePEM(a.file, "CERTIFICATE", der)
}

// template is a certificate of a day. Without a name OpenSSL would take it for one that signs itself.
func (a *authority) template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(a.serial.Add(1)), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)}
}

// issue writes a certificate for a host name or IP address, and its key, to files whose names begin with path.
func (a *authority) issue(path, host string) (certFile, keyFile string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := a.template(host)
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return "", "", err
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = path+".cert.pem", path+".key.pem"
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return "", "", err
	}
	return certFile, keyFile, writePEM(keyFile, "PRIVATE KEY", text)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
