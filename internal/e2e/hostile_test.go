package e2e

import (
	"flag"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// hostileFor is how long TestHostile goes on: `make hostile` gives an hour.
var hostileFor = flag.Duration("hostile", 10*time.Second, "for how long TestHostile sends what it can think of")

// hostile sends whatever it can think of to one node.
type hostile struct {
	t        *testing.T
	n        *node
	campaign string
	player   string // a player's token
	until    time.Time

	messages, requests, sockets atomic.Int64
	unavailable                 atomic.Int64 // requests that were answered 503
}

// TestHostile: a node to which strangers, players and operators send what makes no sense, valid, mutated, cut, huge, in
// the wrong order, over HTTP and WebSocket, does not end, has no fault of its own (no 5xx but 503, no panic), and
// serves the players beside them.
func TestHostile(t *testing.T) {
	if *hostileFor > time.Minute {
		t.Parallel() // alone: it takes longer than a part of the budget may be held
	} else {
		testenv.Parallel(t, testenv.Heavy)
	}
	p := startProcessWith(t, processOptions{log: io.Discard, flags: []string{"--tap-rate", "20", "--guests"}})
	spec := fund(t, p.node, "hostile", 1_000_000, 100_000)
	spec.WinsPerUser = 100_000
	c, err := p.client.CreateCampaign(within(t, 20*time.Second), spec, "")
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{t: t, n: p.node, campaign: c.ID, player: token(t, "hostile"), until: time.Now().Add(*hostileFor)}
	checks := checkHealth(t, p.node)
	random := testenv.Random(t)
	var working sync.WaitGroup
	for _, work := range []func(*rand.Rand){h.talk, h.talk, h.flood, h.breakFrames, h.ask, h.ask, h.breakHTTP} {
		own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		working.Go(func() {
			for time.Now().Before(h.until) && !t.Failed() {
				work(own)
			}
		})
	}
	working.Go(func() { h.honest(c.ID) })
	working.Wait()
	t.Logf("%d messages, %d requests (%d answered 503), %d broken connections, %d health checks", h.messages.Load(),
		h.requests.Load(), h.unavailable.Load(), h.sockets.Load(), checks.Load())
	if h.messages.Load() == 0 || h.requests.Load() == 0 || h.sockets.Load() == 0 {
		t.Error("a part of it did not run")
	}
	if text := metricsOf(t, p.node); strings.Contains(text, "redrain_panics_total{") {
		t.Errorf("panics: %s", panicLines(text))
	}
	select {
	case <-p.exited:
		t.Errorf("the node has ended: %v", p.err)
	default:
	}
	proof, err := p.client.Reconciliation(within(t, time.Minute), c.ID)
	if err != nil || !proof.Balanced {
		t.Errorf("the books: %+v, %v", proof, err)
	}
}

// honest plays beside, in rain after rain, until the end: each tap is answered, and nobody is sent away.
func (h *hostile) honest(campaign string) {
	p := join(h.t, h.n, "honest", campaign)
	for time.Now().Before(h.until) && !h.t.Failed() {
		spec := rain.DefaultRain()
		soon := int64(0)
		spec.StartsInMS, spec.DurationMS, spec.DropsPerSecond, spec.FallMS = &soon, 5_000, 50, 5_000
		// One that runs already, or a campaign that somebody has paused, is as good: then taps are answered so.
		_, _ = h.n.client.StartRain(within(h.t, 20*time.Second), campaign, spec, "")
		for range 10 {
			began := time.Now()
			p.answered(h.t, p.tap("0.0"))
			testenv.Eventually(h.t, time.Minute, "the next tap", func() bool {
				return time.Since(began) > 200*time.Millisecond
			})
		}
		p.mu.Lock()
		if p.closed != nil || len(p.errors) > 0 {
			h.t.Errorf("the honest player: %v, %v", p.closed, p.errors)
		}
		p.mu.Unlock()
	}
}

func metricsOf(t *testing.T, n *node) string {
	t.Helper()
	answer, err := get(t, n.url+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func panicLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "redrain_panics_total") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
