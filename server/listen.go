package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"redrain/internal/certs"
	"redrain/server/caller"
)

// listen opens the addresses of the process: whoever comes before Run waits.
func (s *Server) listen(ctx context.Context) error {
	proxies, err := caller.ParseProxies(s.cfg.Proxies)
	if err != nil {
		return err
	}
	var config *tls.Config
	if s.cfg.TLSCert != "" {
		reloader, err := certs.New(s.cfg.TLSCert, s.cfg.TLSKey, s.log)
		if err != nil {
			return err
		}
		config = reloader.Config()
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Listen); err != nil {
		return fmt.Errorf("listening: %w; choose another address with --listen", err)
	}
	if s.cfg.ProxyProtocol {
		s.listener = proxies.Listener(s.listener)
	}
	if config != nil {
		s.listener = tls.NewListener(s.listener, config)
	}
	s.http.Handler = proxies.Handler(s.http.Handler)
	if s.cfg.AdminListen == "" {
		return nil
	}
	s.admin, err = s.listenAdmin(ctx)
	return err
}
