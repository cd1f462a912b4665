package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"

	"redrain/internal/requestid"
	"redrain/internal/reread"
	"redrain/server/api"
	"redrain/server/clientip"
	"redrain/server/sockets"
)

// guardSockets puts the table of connections between the listener and the HTTP server.
func (s *Server) guardSockets(proxies clientip.Proxies) {
	budget := sockets.BudgetOf(sockets.Descriptors())
	if budget > 0 && budget < s.cfg.MaxConnections {
		s.log.Warn("the limit of open files has room for fewer connections than --max-connections: "+
			"raise it (ulimit -n)",
			"room", budget, "max_connections", s.cfg.MaxConnections)
	}
	s.sockets = sockets.New(sockets.Options{
		PerAddress: s.cfg.PerAddress, Budget: budget, Trusted: proxies.Trusted, Problem: api.WriteProblem,
		Recoverer: s.recoverer, Registerer: s.metrics,
	})
	s.listener = s.sockets.Listener(s.listener)
	s.http.Handler = requestid.Handler(proxies.Handler(s.sockets.Handler(s.http.Handler)))
	s.http.ConnState, s.http.ConnContext = s.sockets.State, s.sockets.Context
}

// listen opens the addresses of the process. Connections wait until Run serves them.
func (s *Server) listen(ctx context.Context) error {
	proxies, err := clientip.ParseProxies(s.cfg.Proxies)
	if err != nil {
		return err
	}
	var config *tls.Config
	if s.cfg.TLSCert != "" {
		if config, err = tlsConfig(s.cfg.TLSCert, s.cfg.TLSKey, s.log); err != nil {
			return err
		}
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Listen); err != nil {
		return fmt.Errorf("listening: %w; choose another address with --listen", err)
	}
	if s.cfg.ProxyProtocol {
		s.listener = proxies.Listener(s.listener)
	}
	s.guardSockets(proxies)
	if config != nil {
		s.listener = tls.NewListener(s.listener, config)
	}
	if s.cfg.AdminListen == "" {
		return nil
	}
	s.admin, err = s.listenAdmin(ctx)
	return err
}

// tlsConfig returns the configuration of a server that speaks TLS 1.2 or newer, and HTTP/2 if the client does. The PEM
// files are checked for each connection, so a renewed certificate is served within seconds.
func tlsConfig(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
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
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return files.Newest(), nil },
	}, nil
}
