// Package bare is the lower bound for redrain's sockets: a server that only holds gorilla connections, with one
// goroutine each, and writes the same message to all of them in a loop.
//
// It welcomes every hello without looking at its token, and it sends the waves of one rain.
package bare

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"redrain/internal/wire"
	"redrain/rain"
)

// waveLeadMS is how long before its time a wave is sent, as in redrain.
const waveLeadMS = 500

// Server holds the connections.
type Server struct {
	upgrader websocket.Upgrader

	mu    sync.Mutex
	conns []*websocket.Conn
	rain  *rain.Rain
	stop  context.CancelFunc // ends the rain
}

// New makes a server without connections.
func New() *Server {
	return &Server{stop: func() {}, upgrader: websocket.Upgrader{
		Subprotocols: []string{wire.Subprotocol}, ReadBufferSize: 1024, WriteBufferSize: 1024,
		WriteBufferPool: &sync.Pool{},
	}}
}

// Handler serves the socket, the metrics, and POST /rain with a rain.RainSpec, whose waves go to all who are there.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.Handler())
	mux.HandleFunc("GET /ws", s.hold)
	mux.HandleFunc("POST /rain", s.start)
	return mux
}

func (s *Server) hold(w http.ResponseWriter, r *http.Request) {
	conn, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	go s.read(conn) // until the connection or the process ends
}

func (s *Server) read(conn *websocket.Conn) {
	defer conn.Close() //nolint:errcheck // the connection is over in any case
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if err := s.answer(conn, data); err != nil {
			return
		}
	}
}

// answer answers hello and ping.
func (s *Server) answer(conn *websocket.Conn, message []byte) error {
	var r struct {
		Type     string          `json:"type"`
		ID       json.RawMessage `json:"id"`
		Campaign string          `json:"campaign"`
		T        int64           `json:"t"`
	}
	if err := json.Unmarshal(message, &r); err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	s.mu.Lock() // one writer at a time
	defer s.mu.Unlock()
	if r.Type == wire.TypePing {
		return conn.WriteJSON(map[string]any{"type": wire.TypePong, "id": r.ID, "t": r.T, "server_time": now})
	}
	s.conns = append(s.conns, conn)
	return conn.WriteJSON(map[string]any{
		"type": wire.TypeWelcome, "id": r.ID, "user": "u", "server_time": now,
		"campaign": wire.Campaign{ID: r.Campaign},
		"rain":     wire.RainOf(s.rain, now, false), "claims": []any{},
	})
}

func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	var spec rain.RainSpec
	if err := json.NewDecoder(r.Body).Decode(&spec); err != nil || spec.StartsInMS == nil {
		http.Error(w, "not a rain", http.StatusBadRequest)
		return
	}
	falling := &rain.Rain{ID: "r" + strings.ToLower(rand.Text()[:16]),
		StartsAt: time.Now().UnixMilli() + *spec.StartsInMS, DurationMS: spec.DurationMS,
		DropsPerSecond: spec.DropsPerSecond, FallMS: spec.FallMS}
	_, _ = rand.Read(falling.Seed[:]) // never fails
	ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
	s.mu.Lock()
	s.stop() // one rain at a time
	s.rain, s.stop = falling, stop
	s.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	go s.fall(ctx, falling)
}

// fall sends the waves, each when it is due.
func (s *Server) fall(ctx context.Context, r *rain.Rain) {
	if s.broadcast(wire.RainChange{Type: wire.TypeRain, Rain: wire.RainOf(r, time.Now().UnixMilli(), false)}) != nil {
		return
	}
	for n := range r.Waves() {
		timer := time.NewTimer(time.Duration(r.WaveAt(n)-waveLeadMS-time.Now().UnixMilli()) * time.Millisecond)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if s.broadcast(wire.WaveOf(r.ID, r.Wave(n))) != nil {
			return
		}
	}
}

// broadcast writes a message to all connections, one after the other, and drops those that fail.
func (s *Server) broadcast(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	frame, err := websocket.NewPreparedMessage(websocket.TextMessage, data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(conn *websocket.Conn) bool {
		return conn.WritePreparedMessage(frame) != nil
	})
	return nil
}
