// Package certs serves a TLS certificate that is read again when its files change.
package certs

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"redrain/internal/reread"
)

// Reloader has a certificate and its key from two PEM files. It looks at them when a connection comes, so a renewed
// certificate is served within seconds of its being written.
type Reloader struct {
	files *reread.Files[*tls.Certificate]
}

// New reads the files. The error says what is wrong with them.
func New(certFile, keyFile string, log *slog.Logger) (*Reloader, error) {
	files, err := reread.New("the TLS certificate", log, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the TLS certificate: %w", err)
		}
		return &pair, nil
	}, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &Reloader{files}, nil
}

// Config is for a server that speaks TLS 1.2 or newer, and HTTP/2 where the client does.
func (r *Reloader) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.Certificate(), nil },
	}
}

// Certificate is the newest one that could be read, with a key that belongs to it.
func (r *Reloader) Certificate() *tls.Certificate { return r.files.Newest() }
