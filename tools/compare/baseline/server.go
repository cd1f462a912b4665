package baseline

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"redrain/internal/wire"
	"redrain/rain"
)

// Options say where everything is.
type Options struct {
	Listen   string // host:port
	Redis    string // host:port of one server
	MySQL    string // go-sql-driver DSN of a database of its own; "" = nothing is settled
	Secret   string // HS256 secret of the players' tokens
	Prefix   string // of the keys in Redis
	Settlers int    // workers that settle; with MySQL at least 1
}

// Server is one process of the textbook design.
type Server struct {
	o        Options
	log      *slog.Logger
	store    *store
	settler  *settler // nil: nothing is settled
	listener net.Listener
	upgrader websocket.Upgrader

	mu      sync.Mutex
	hubs    map[string]*hub
	clients map[*client]struct{}
	closing bool
	running sync.WaitGroup  // hubs and clients
	ctx     context.Context //nolint:containedctx // ends with the server; the hubs run under it
	stop    context.CancelFunc
}

// New connects to the back ends, makes the tables and listens.
func New(ctx context.Context, o Options, log *slog.Logger) (*Server, error) {
	s := &Server{o: o, log: log, store: openStore(o.Redis, o.Prefix), hubs: map[string]*hub{},
		clients: map[*client]struct{}{},
		upgrader: websocket.Upgrader{ReadBufferSize: 1024, WriteBufferSize: 1024,
			Subprotocols: []string{wire.Subprotocol}}}
	if err := s.store.script.Load(ctx, s.store.rdb).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("load the script: %w", err), s.store.rdb.Close())
	}
	if o.MySQL != "" {
		var err error
		if s.settler, err = openSettler(ctx, o.MySQL, s.store, log); err != nil {
			return nil, errors.Join(err, s.store.rdb.Close())
		}
	}
	var err error
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen); err != nil {
		return nil, errors.Join(err, s.closeBackends())
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	return s, nil
}

// URL is the server's address.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /campaigns", s.create)
	mux.HandleFunc("POST /campaigns/{id}/rains", s.start)
	mux.HandleFunc("GET /ws", s.upgrade)
	mux.Handle("GET /metrics", promhttp.Handler())
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(s.listener) }()
	if s.settler != nil {
		for range max(1, s.o.Settlers) {
			s.running.Go(func() { s.settler.run(s.ctx) })
		}
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	_ = web.Close() // the sockets no longer belong to it
	s.end()
	return errors.Join(err, s.closeBackends())
}

// end closes every connection and waits for all goroutines.
func (s *Server) end() {
	s.mu.Lock()
	s.closing = true
	for c := range s.clients {
		c.close()
	}
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
}

func (s *Server) closeBackends() error {
	err := s.store.rdb.Close()
	if s.settler != nil {
		err = errors.Join(err, s.settler.close())
	}
	return err
}

// Campaign is the body of POST /campaigns: a stock of equal packets.
type Campaign struct {
	ID      string `json:"id"`
	Packets int    `json:"packets"`
	Amount  int64  `json:"amount"` // of each packet
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var c Campaign
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.ID == "" {
		http.Error(w, "not a campaign", http.StatusBadRequest)
		return
	}
	if err := s.store.fill(r.Context(), c.ID, c.Packets, c.Amount); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.hubs[c.ID] != nil {
		http.Error(w, "there is one already", http.StatusConflict)
		return
	}
	h := newHub(c.ID)
	s.hubs[c.ID] = h
	s.running.Go(func() { h.run(s.ctx) })
	w.WriteHeader(http.StatusCreated)
}

// start is POST /campaigns/{id}/rains with a rain.RainSpec that says starts_in_ms.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	var spec rain.RainSpec
	h := s.hub(r.PathValue("id"))
	if err := json.NewDecoder(r.Body).Decode(&spec); err != nil || spec.StartsInMS == nil || h == nil {
		http.Error(w, "not a rain, or not a campaign", http.StatusBadRequest)
		return
	}
	falling := &rain.Rain{
		ID: h.campaign, Campaign: h.campaign, StartsAt: time.Now().UnixMilli() + *spec.StartsInMS,
		Settings: spec.Settings,
	}
	_, _ = rand.Read(falling.Seed[:]) // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		http.Error(w, "the server is going", http.StatusServiceUnavailable)
		return
	}
	s.running.Go(func() { h.fall(s.ctx, falling) })
	w.WriteHeader(http.StatusCreated)
}

// hub finds the room of a campaign, or nil.
func (s *Server) hub(campaign string) *hub {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hubs[campaign]
}

func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	conn, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	c := &client{s: s, conn: conn, send: make(chan []byte, sendBuffer), gone: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		c.close()
		return
	}
	s.clients[c] = struct{}{}
	s.running.Go(c.write)
	s.running.Go(func() {
		c.read()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.clients, c)
	})
}

// verify returns the player of a token.
func (s *Server) verify(token string) (string, error) {
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return []byte(s.o.Secret), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	return claims.Subject, err
}
