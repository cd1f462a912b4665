package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"redrain/grab"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/room"
)

// BenchmarkTap is one tap on the gateway with a real Redis: from the frame's text to the result handed to the connection.
// Many players tap at once, as in a storm, so that the coalescer has something to coalesce.
func BenchmarkTap(b *testing.B) {
	rdb, err := grab.Connect(testenv.Redis(b))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	now := func() int64 { return time.Now().UnixMilli() }
	grabber := grab.New(rdb, grab.Options{Namespace: testenv.Namespace(b), Clock: now, Log: slog.New(slog.DiscardHandler)})
	defer grabber.Close()
	c := rainingCampaign(b, grabber, now(), 1_000_000) // not used up by the benchmark

	lobby := room.NewLobby(room.Options{Log: slog.New(slog.DiscardHandler), ResultsMax: 1 << 20})
	g := newGateway(&gateway{
		cfg: &Config{}, grabber: grabber, lobby: lobby, counts: newCounts(), metrics: newMetrics(prometheus.NewRegistry()), clock: now,
	})
	const players = 1000
	answered := &counter{}
	sessions := make([]*session, players)
	for i := range sessions {
		sessions[i] = &session{
			g: g, member: lobby.NewMember(room.NewSocket(answered), nil), bad: rate.NewLimiter(badRate, badBurst), user: fmt.Sprintf("user-%d", i),
			seat: seat{campaign: c.ID, gate: grabber.Gate(c), count: g.counts.of(c.ID)},
		}
	}
	b.ReportAllocs()
	answered.expect(b.N)
	b.ResetTimer()
	for i := range b.N {
		// Each player taps one drop after the other; a drop is tapped once by each.
		drop := i / players
		sessions[i%players].handle(fmt.Appendf(nil, `{"type":"tap","id":%d,"drop":"%d.%d"}`, i, drop/100, drop%100))
	}
	answered.wait()
}

// rainingCampaign stocks a campaign of so many packets, with a rain that has been falling.
func rainingCampaign(b testing.TB, grabber *grab.Grabber, now int64, packets int) *rain.Campaign {
	b.Helper()
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Packets, spec.Budget, spec.WinsPerUser = "bench", "bench", packets, rain.Money(packets)*50, 1_000
	c := &rain.Campaign{ID: newID("c", "", 0), Spec: spec, Status: rain.Open, Revision: 1, SplitSeed: newSeed()}
	amounts, err := c.Cut(c.SplitSeed)
	if err != nil {
		b.Fatal(err)
	}
	if err := grabber.Open(b.Context(), c, amounts); err != nil {
		b.Fatal(err)
	}
	c.Revision++
	c.Rains = []rain.Rain{{
		ID: "r", Campaign: c.ID, StartsAt: now - 15_000, DurationMS: 600_000, DropsPerSecond: 400, FallMS: 600_000, Pacing: rain.PacingNone,
	}}
	if err := grabber.Apply(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	return c
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
	if c.left -= bytes.Count(frame, []byte(`"type":"result"`)); c.left == 0 {
		close(c.done)
	}
	return len(frame), nil
}

func (c *counter) Close() error { return nil }
