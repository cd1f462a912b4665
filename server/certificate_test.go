package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// writeCertificate makes a certificate with a serial number.
func writeCertificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testenv.Must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	testenv.Must(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	testenv.Must(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: text},
	} {
		testenv.Must(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
		// Files of one moment look the same; those of a renewal do not.
		at := time.Unix(serial, 0)
		testenv.Must(t, os.Chtimes(name, at, at))
	}
	return cert, key
}

// TestARenewedCertificateIsServed: within seconds, and while the files do not fit together the old one is.
func TestARenewedCertificateIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		dir := t.TempDir()
		cert, key := writeCertificate(t, dir, 1)
		r, err := tlsConfig(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
		testenv.Must(t, err)
		serves := func(serial int64) {
			t.Helper()
			time.Sleep(6 * time.Second) // fake time: the next check of the files is over
			served, err := r.GetCertificate(nil)
			testenv.Must(t, err)
			testenv.Equal(t, served.Leaf.SerialNumber.Int64(), serial, "served certificate")
		}
		serves(1)
		old, err := os.ReadFile(key)
		testenv.Must(t, err)
		writeCertificate(t, dir, 2)
		renewed, err := os.ReadFile(key)
		testenv.Must(t, err)
		testenv.Must(t, os.WriteFile(key, old, 0o600))
		serves(1)
		testenv.Contains(t, log.String(), "the last content stays in use", "log")
		testenv.Must(t, os.WriteFile(key, renewed, 0o600))
		serves(2)
		testenv.Must(t, os.Remove(cert))
		serves(2)
	})
}

func TestFilesThatAreNoCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := writeCertificate(t, dir, 1)
	for _, files := range [][2]string{{cert, cert}, {key, key}, {cert, filepath.Join(dir, "none")}} {
		if _, err := tlsConfig(files[0], files[1], slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%v is taken", files)
		}
	}
}
