package gateway

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/room"
	"redrain/server/live"
	"redrain/server/servertest"
)

// BenchmarkTap is one tap on the gateway with a real Redis: from the frame's text to the result handed to the
// connection. Many players tap at once, as in a storm, so that the coalescer has something to coalesce.
func BenchmarkTap(b *testing.B) {
	s := newStorm(b)
	answered := &counter{}
	sessions := make([]*session, stormPlayers)
	for i := range sessions {
		member := s.lobby.NewMember(room.NewSocket(answered))
		sessions[i] = s.seated(i, &session{g: s.gateway.shared, member: member})
	}
	var frame []byte
	b.ReportAllocs()
	answered.expect(b.N)
	b.ResetTimer()
	for i := range b.N {
		frame = appendTap(frame[:0], i, i/stormPlayers)
		sessions[i%stormPlayers].Text(frame)
	}
	answered.wait()
}

// BenchmarkTapFrameToFrame is the same over real sockets. Each player waits for the result before the next tap. The
// players' side allocates nothing, so all allocations are the gateway's, from the incoming frame to the outgoing one. A
// time is that of both sides.
func BenchmarkTapFrameToFrame(b *testing.B) {
	s := newStorm(b)
	var number atomic.Int64
	var readers sync.WaitGroup
	upgrade := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		take := &takeover{ResponseWriter: w}
		conn, err := s.gateway.upgrader.Upgrade(take, r, nil)
		if err != nil {
			b.Error(err)
			return
		}
		session := s.seated(int(number.Add(1)), newSession(s.gateway.shared, conn, take, ""))
		session.timer.Stop()
		readers.Go(session.run)
	}))
	defer upgrade.Close()
	conns := make([]net.Conn, stormPlayers)
	for i := range conns {
		conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(upgrade.URL, "http"), nil)
		testenv.Must(b, err)
		conns[i] = conn.NetConn()
	}
	b.ReportAllocs()
	b.ResetTimer()
	var players sync.WaitGroup
	for i, conn := range conns {
		players.Go(func() {
			if err := play(conn, i, b.N); err != nil {
				b.Error(err)
			}
		})
	}
	players.Wait()
	b.StopTimer()
	for _, conn := range conns {
		_ = conn.Close()
	}
	readers.Wait()
}

// play taps every stormPlayers-th of n times, and waits for each result.
func play(conn net.Conn, from, n int) error {
	const header = 6
	frame, answer := make([]byte, header, 128), make([]byte, 512)
	for i := from; i < n; i += stormPlayers {
		frame = appendTap(frame[:header], i, i/stormPlayers)
		frame[0], frame[1] = 0x81, 0x80|byte(len(frame)-header) // a text frame; its mask is zero
		if _, err := conn.Write(frame); err != nil {
			return err
		}
		if err := awaitWin(conn, answer); err != nil {
			return err
		}
	}
	return nil
}

// awaitWin reads a result, into space that is lent to it, and leaves pings alone.
func awaitWin(conn net.Conn, space []byte) error {
	const ping = "\x89\x00"
	for {
		n, err := conn.Read(space)
		if err != nil {
			return err
		}
		switch got := space[:n]; {
		case bytes.Contains(got, []byte(`"won"`)):
			return nil
		case string(got) != ping:
			return fmt.Errorf("answered %q", got)
		}
	}
}

const stormPlayers = 1000

// storm is a gateway with a real Redis, and a rain in which every tap wins.
type storm struct {
	gateway  *Gateway
	lobby    *room.Lobby
	campaign *rain.Campaign
}

func newStorm(b testing.TB) *storm {
	b.Helper()
	rdb, err := store.Connect(b.Context(), testenv.Redis(b))
	testenv.Must(b, err)
	now := func() int64 { return time.Now().UnixMilli() }
	lobby := room.NewLobby(room.Options{Log: slog.New(slog.DiscardHandler), ResultsMax: 1 << 20})
	grabber := newTestGrabber(rdb, testenv.Namespace(b), now, lobby)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = lobby.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-ended
		grabber.Close()
		_ = rdb.Close()
	})
	return &storm{
		campaign: servertest.RainingCampaign(b, grabber, now(), 1_000_000), // not used up by the benchmark
		lobby:    lobby,
		gateway: New(Options{
			Gate: func(c *rain.Campaign) Gate { return grabber.Gate(c) }, Door: &turns{}, Lobby: lobby,
			Counts: live.NewCounts(), Registerer: prometheus.NewRegistry(), Clock: now,
			Amounts: rain.NewAmountsCache(),
		}),
	}
}

// seated makes a session that of a player in the rain.
func (s *storm) seated(i int, of *session) *session {
	of.user, of.person = fmt.Sprintf("user-%d", i), &person{}
	of.seat = &seat{campaign: s.campaign.ID, gate: s.gateway.o.Gate(s.campaign),
		count: s.gateway.o.Counts.Of(s.campaign.ID), metrics: s.gateway.metrics,
		ranks: s.gateway.ranks(s.campaign)}
	return of
}

// appendTap writes a player's tap on the n-th drop: each player taps one after the other, and each once.
func appendTap(b []byte, id, n int) []byte {
	b = strconv.AppendInt(append(b, `{"type":"tap","id":`...), int64(id), 10)
	b = rain.DropID{N: int64(n / 100), K: n % 100}.Append(append(b, `,"drop":"`...))
	return append(b, `"}`...)
}

// counter is a connection that counts the results written to it.
type counter struct {
	net.Conn

	mu   sync.Mutex
	left int
	done chan struct{}
}

func (c *counter) expect(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.done = n, make(chan struct{})
}

func (c *counter) wait() { <-c.done }

// TryWrite counts the results in a frame.
func (c *counter) TryWrite(frame []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answered := bytes.Count(frame, []byte(`"type":"result"`)) // the lobby's goodbye has none
	if c.left -= answered; c.left == 0 && answered > 0 {
		close(c.done)
	}
	return len(frame), nil
}

func (c *counter) Close() error { return nil }

// testGrabber decides taps on a Redis.
type testGrabber struct {
	*store.Stock
	*store.Limits
	*confirm.Confirmer
	*grab.Gates[TapOrigin]
}

func newTestGrabber(rdb redis.UniversalClient, namespace string, clock rain.Clock, lobby *room.Lobby) *testGrabber {
	s := store.New(rdb, store.Options{Namespace: namespace, Clock: clock})
	c := confirm.New(s, confirm.Redis, nil, slog.New(slog.DiscardHandler))
	return &testGrabber{
		Stock: store.NewStock(s), Limits: store.NewLimits(s), Confirmer: c,
		Gates: grab.NewGates(s, c, Results{Lobby: lobby}.Answer, grab.Options{Clock: clock}),
	}
}
