package e2e

import (
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// hostileFor is how long TestHostile goes on: `make hostile` gives an hour, CI a minute by the environment, because
// go test hands its flags to all packages.
var hostileFor = flag.Duration("hostile", hostileDefault(), "for how long TestHostile sends what it can think of")

// onQuiet: a time on the wall says something of the node only where nothing else runs, and with cores for both sides.
var onQuiet = flag.Bool("hostile-quiet", false, "the machine is quiet: hold the p99 of players beside to 1.5 times")

func hostileDefault() time.Duration {
	text, given := os.LookupEnv("REDRAIN_HOSTILE")
	if !given {
		return 10 * time.Second
	}
	d, err := time.ParseDuration(text)
	must(err)
	return d
}

// hostileAtLeast is how many messages and requests an hour must have.
const hostileAtLeast = 1_000_000

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
	h := &hostile{t: t, n: p.node, campaign: c.ID, player: token(t, "hostile")}
	honest := join(t, p.node, "honest", c.ID)
	h.until = time.Now().Add(min(*hostileFor/5, 30*time.Second))
	alone := h.honest(honest)
	checks := checkHealth(t, p.node)
	h.until = time.Now().Add(*hostileFor)
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
	var beside []time.Duration
	working.Go(func() { beside = h.honest(honest) })
	working.Wait()
	t.Logf("%d messages, %d requests (%d answered 503), %d broken connections, %d health checks", h.messages.Load(),
		h.requests.Load(), h.unavailable.Load(), h.sockets.Load(), checks.Load())
	if h.messages.Load() == 0 || h.requests.Load() == 0 || h.sockets.Load() == 0 {
		t.Error("a part of it did not run")
	}
	if all := h.messages.Load() + h.requests.Load(); *hostileFor >= time.Hour && all < hostileAtLeast {
		t.Errorf("%d messages and requests are too few for %s", all, *hostileFor)
	}
	compare(t, "the honest player", p99(alone), p99(beside))
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

// honest plays in rain after rain, until the end: each tap is answered, and nobody is sent away. It returns how long
// the answers took.
func (h *hostile) honest(p *player) (took []time.Duration) {
	spec := rain.DefaultRain()
	soon := int64(0)
	spec.StartsInMS, spec.DurationMS, spec.DropsPerSecond, spec.FallMS = &soon, 5_000, 50, 5_000
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	for i := 0; time.Now().Before(h.until) && !h.t.Failed(); i++ {
		if i%20 == 0 {
			// One that runs already, or a campaign that somebody has paused, is as good: then taps are answered so.
			_, _ = h.n.client.StartRain(within(h.t, 20*time.Second), h.campaign, spec, "")
		}
		drop := p.lastDrop()
		began := time.Now()
		p.answered(h.t, p.tap(drop))
		took = append(took, time.Since(began))
		<-pace.C
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed != nil || len(p.errors) > 0 {
		h.t.Errorf("the honest player: %v, %v", p.closed, p.errors)
	}
	return took
}

// lastDrop is a drop of the wave that the player has heard of last; "0.0" before the first.
func (p *player) lastDrop() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := int64(0)
	for n := range p.waves {
		last = max(last, n)
	}
	return strconv.FormatInt(last, 10) + ".0"
}

func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0 // the test has failed before
	}
	slices.Sort(took)
	return took[(len(took)*99-1)/100]
}

// compare logs what players wait for alone and beside others, and holds them together where the machine allows it.
func compare(t *testing.T, who string, alone, beside time.Duration) {
	t.Helper()
	ratio := float64(beside) / float64(alone)
	t.Logf("p99 of %s: %s alone, %s beside: %.2f times", who, alone, beside, ratio)
	if *onQuiet && ratio > 1.5 {
		t.Errorf("the p99 of %s is %.2f times of what it is alone", who, ratio)
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
