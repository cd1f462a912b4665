// Package certs serves a TLS certificate that is read again when its files change.
package certs

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"redrain/internal/reread"
)

// Reloader has a certificate and its key from two PEM files. It checks them for each connection, so a renewed
// certificate is served within seconds.
type Reloader struct {
	files *reread.Files[*tls.Certificate]
}

// New reads the files. The error describes their fault.
func New(certFile, keyFile string, log *slog.Logger) (*Reloader, error) {
	files, err := reread.New("the TLS certificate", log, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("read the TLS certificate: %w", err)
		}
		return &pair, nil
	}, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &Reloader{files}, nil
}

// Config returns the configuration of a server that speaks TLS 1.2 or newer, and HTTP/2 if the client does.
func (r *Reloader) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.Certificate(), nil },
	}
}

// Certificate returns the newest certificate that could be read, with its key.
func (r *Reloader) Certificate() *tls.Certificate { return r.files.Newest() }
