package e2e

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"redrain/internal/testenv"
	"redrain/rain"
)

// hostileFor is zero for the time of the tier.
var hostileFor = flag.Duration("hostile", 0, "how long TestHostile sends; 0: 10 s, and 5 min with -nightly")

// hostileRate: an hour's million is 278 a second. With 5,000 on two cores other tests wait for the machine.
var hostileRate = flag.Int("hostile-rate", 500, "messages and requests a second that TestHostile sends; 0: no limit")

// hostileAtLeast is the least number of messages and requests in an hour.
const hostileAtLeast = 1_000_000

// hostileTime is the duration of TestHostile's sending.
func hostileTime() time.Duration {
	switch {
	case *hostileFor > 0:
		return *hostileFor
	case testenv.Covers(testenv.Nightly):
		return 5 * time.Minute
	default:
		return 10 * time.Second
	}
}

// hostile sends invalid input to one node.
type hostile struct {
	t        *testing.T
	n        *node
	campaign string
	player   string // a player's token
	pace     *rate.Limiter

	messages, requests atomic.Int64
	unavailable        atomic.Int64 // requests that were answered 503
}

// counted waits until one message or request more may be sent, and counts it.
func (h *hostile) counted(of *atomic.Int64) {
	_ = h.pace.Wait(h.t.Context()) // it is one of a burst of more
	of.Add(1)
}

// TestHostile: a node gets invalid input over HTTP and WebSocket: mutated, cut, huge, in the wrong order. It neither
// ends nor panics, and its only 5xx is 503. It answers every tap of the players beside, and closes none of them.
func TestHostile(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	lasts := hostileTime()
	if lasts > 10*time.Minute {
		t.Parallel() // alone: it takes longer than a slot may be held
	} else {
		testenv.Parallel(t, testenv.Heavy)
	}
	p := startProcessWith(t, processOptions{log: io.Discard, flags: []string{"--tap-rate", "20", "--guests"}})
	spec := fund(t, p.node, "hostile", 1_000_000, 100_000)
	spec.WinsPerUser = 100_000
	c := createCampaign(t, p.client, spec)
	checks := checkHealth(t, p.node)
	h := &hostile{t: t, n: p.node, campaign: c.ID, player: token(t, "hostile"), pace: rate.NewLimiter(rate.Inf, 0)}
	if *hostileRate > 0 {
		h.pace = rate.NewLimiter(rate.Limit(*hostileRate), max(1, *hostileRate/50))
	}
	random, over := testenv.Random(t), make(chan struct{})
	var working sync.WaitGroup
	for _, work := range []func(*rand.Rand){h.talk, h.talk, h.flood, h.ask, h.ask, h.rain} {
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		working.Go(func() { until(t, over, func() { work(own) }) })
	}
	for i := range 10 {
		honest := join(t, p.node, fmt.Sprintf("honest-%d", i), c.ID)
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		working.Go(func() { until(t, over, func() { honest.tapAmong(t, own) }) })
	}
	select {
	case <-time.After(lasts):
	case <-p.Done():
		t.Errorf("the node has ended: %v", p.Wait(time.Minute))
	}
	close(over)
	working.Wait()
	hostileClient.CloseIdleConnections()
	t.Logf("%d messages, %d requests (%d answered 503), %d health checks", h.messages.Load(), h.requests.Load(),
		h.unavailable.Load(), checks.Load())
	all := h.messages.Load() + h.requests.Load()
	if h.messages.Load() == 0 || h.requests.Load() == 0 || lasts >= time.Hour && all < hostileAtLeast {
		t.Errorf("%d messages and requests are too few for %s", all, lasts)
	}
	for line := range strings.Lines(metricsOf(t, p.node)) {
		if strings.HasPrefix(line, "redrain_panics_total{") {
			t.Errorf("a panic: %s", line)
		}
	}
	proof, err := p.client.Reconciliation(within(t, time.Minute), c.ID)
	if err != nil || !proof.Balanced {
		t.Errorf("the books: %+v, %v", proof, err)
	}
}

// until works again and again until the end.
func until(t *testing.T, over chan struct{}, work func()) {
	t.Helper()
	for !t.Failed() {
		select {
		case <-over:
			return
		default:
			work()
		}
	}
}

// rain starts a rain every two seconds. A rain that runs already, or a paused campaign, is as good.
func (h *hostile) rain(*rand.Rand) {
	spec := rain.DefaultRain()
	soon := int64(0)
	spec.StartsInMS, spec.DurationMS, spec.DropsPerSecond, spec.FallMS = &soon, 5_000, 50, 5_000
	_, _ = h.n.client.StartRain(within(h.t, 20*time.Second), h.campaign, spec, "")
	<-time.After(2 * time.Second)
}

// tapAmong taps a drop of the newest wave, "0.0" before the first. The tap is answered, and the player stays connected.
func (p *player) tapAmong(t *testing.T, own *rand.Rand) {
	t.Helper()
	p.mu.Lock()
	last := int64(0)
	for n := range p.waves {
		last = max(last, n)
	}
	p.mu.Unlock()
	p.answered(t, p.tap(strconv.FormatInt(last, 10)+".0"))
	p.mu.Lock()
	if p.closed != nil || len(p.errors) > 0 {
		t.Errorf("%s, who keeps to the protocol: %v, %v", p.user, p.closed, p.errors)
	}
	p.mu.Unlock()
	<-time.After(50*time.Millisecond + time.Duration(own.Int64N(int64(100*time.Millisecond)))) // as fast as people
}

// word is a JSON value that a program may stumble over.
func word(r *rand.Rand) string {
	texts := testenv.HostileTexts()
	switch r.IntN(12) {
	case 0:
		return strconv.FormatInt(r.Int64()-r.Int64(), 10)
	case 1:
		return fmt.Sprint(r.NormFloat64() * 1e300)
	case 2:
		return []string{"null", "true", "false", "{}", "[]", `""`, "-0", "1e999", "0x1", "NaN", "00", "1."}[r.IntN(12)]
	case 3:
		deep := 1 << r.IntN(12)
		return strings.Repeat("[", deep) + strings.Repeat("]", r.IntN(deep+1))
	case 4:
		deep := 1 << r.IntN(9)
		return strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep)
	case 5:
		return `"` + strings.Repeat("x", 1<<r.IntN(13)) + `"`
	case 6:
		return `"\u` + []string{"d800", "dc00", "0000", "FFFE", "d83d\\ude00", "12", "zzzz"}[r.IntN(7)] + `"`
	default:
		text := texts[r.IntN(len(texts))]
		return quoteRaw(text[:min(len(text), 3000)])
	}
}

// object is a JSON object of fields, as they are or with other values, names, twice, or without some.
func object(r *rand.Rand, fields map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		switch r.IntN(8) {
		case 0:
			value = word(r)
		case 1:
			if r.IntN(3) == 0 {
				continue
			}
		case 2:
			parts = append(parts, strconv.Quote(name)+":"+word(r))
		case 3:
			if r.IntN(4) == 0 {
				name = strings.ToUpper(name)
			}
		}
		parts = append(parts, strconv.Quote(name)+":"+value)
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return mangle(r, "{"+strings.Join(parts, ",")+"}")
}

// mangle leaves a text as it is more often than not; else it is cut, doubled, or some of its bytes are others.
func mangle(r *rand.Rand, text string) string {
	if text == "" {
		return text
	}
	b := []byte(text)
	switch r.IntN(12) {
	case 0:
		return text[:r.IntN(len(text))]
	case 1:
		return text + text
	case 2:
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		return string(b)
	case 3:
		at := r.IntN(len(b))
		return string(slices.Concat(b[:at], []byte(word(r)), b[at:]))
	}
	return text
}
