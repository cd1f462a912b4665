package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// adminServer serves metrics, health and profiles, on an address that players do not reach.
type adminServer struct {
	listener net.Listener
	http     *http.Server
}

func (s *Server) listenAdmin(ctx context.Context) (*adminServer, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.AdminListen)
	if err != nil {
		return nil, fmt.Errorf("listening: %w; choose another address with --admin-listen", err)
	}
	mux := http.NewServeMux()
	s.mountHealth(mux)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // also serves each profile by its name
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return &adminServer{l, &http.Server{
		Handler: secure(mux), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, ErrorLog: s.http.ErrorLog,
	}}, nil
}

// run serves until ctx ends. It is among the last to stop, so that a shutdown can be watched.
func (a *adminServer) run(ctx context.Context) error {
	return serveHTTP(ctx, a.http, a.listener, func() { _ = a.http.Close() })
}

// serveHTTP serves until ctx ends, and stops the server then.
func serveHTTP(ctx context.Context, server *http.Server, listener net.Listener, stop func()) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
