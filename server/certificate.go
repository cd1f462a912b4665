package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"redrain/internal/reread"
)

// certificateReloader reads a certificate and its key from two PEM files. It checks them for each connection, so a
// renewed certificate is served within seconds.
type certificateReloader struct {
	files *reread.Files[*tls.Certificate]
}

// newCertificateReloader reads the files. The error describes their fault.
func newCertificateReloader(certFile, keyFile string, log *slog.Logger) (*certificateReloader, error) {
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
	return &certificateReloader{files}, nil
}

// Config returns the configuration of a server that speaks TLS 1.2 or newer, and HTTP/2 if the client does.
func (r *certificateReloader) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.Certificate(), nil },
	}
}

// Certificate returns the newest certificate that could be read, with its key.
func (r *certificateReloader) Certificate() *tls.Certificate { return r.files.Newest() }
