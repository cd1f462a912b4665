package e2e

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// hostileFor is zero for the time of the tier.
var hostileFor = flag.Duration("hostile", 0, "how long TestHostile sends; 0: 10 s, and 5 min with -nightly")

// onQuiet: a time on the wall says something of the node only where nothing else runs, and with cores for both sides.
var onQuiet = flag.Bool("hostile-quiet", false, "the machine is quiet: hold the p99 of players beside to 1.5 times")

// hostileTime is how long TestHostile sends.
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

// hostileRate: an hour's million is 278 a second, and 600 of those turns in which the senders work. With 5,000 on a
// machine of two cores the senders and the node have two thirds of one each, in bursts, and then players, and tests
// beside, wait for the machine: as long beside a process that is as busy and sends nothing (-hostile-busy;
// docs/performance.md has the figures).
var hostileRate = flag.Int("hostile-rate", 1_000, "messages and requests a second that TestHostile sends; 0: no limit")

// hostileReal: the stand-ins in the node share its two cores, its collector and its locks; servers of their own do not.
var hostileReal = flag.Bool("hostile-real", false, "TestHostile's node has a real Redis, NATS and MySQL")

// hostileBusy is the control: what players wait for where the machine is as busy and the node is not.
var hostileBusy = flag.Float64("hostile-busy", 0,
	"the cores that TestHostile's senders use up, instead of sending anything")

// hostileAtLeast is how many messages and requests an hour must have.
const hostileAtLeast = 1_000_000

// TestHostile: a node to which strangers, players and operators send what makes no sense, valid, mutated, cut, huge, in
// the wrong order, over HTTP and WebSocket, does not end, has no fault of its own (no 5xx but 503, no panic), and
// serves the players beside them: their p99 is compared in turns of a second or two with and without, all in one run.
func TestHostile(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	lasts := hostileTime()
	if lasts > 10*time.Minute {
		t.Parallel() // alone: it takes longer than a slot may be held
	} else {
		testenv.Parallel(t, testenv.Heavy)
	}
	flags := []string{"--tap-rate", "20", "--guests"}
	if *hostileReal {
		flags = append(flags, realSetting(t).flags()...)
	}
	p := startProcessWith(t, processOptions{log: io.Discard, flags: flags})
	spec := fund(t, p.node, "hostile", 1_000_000, 100_000)
	spec.WinsPerUser = 100_000
	c, err := p.client.CreateCampaign(within(t, 20*time.Second), spec, "")
	if err != nil {
		t.Fatal(err)
	}
	checks := checkHealth(t, p.node)
	h := newHonest(t, p.node, c.ID)
	senders := startSenders(t, p.node, c.ID)
	h.play(lasts, senders, func() time.Duration { return p.processorTime(t) })
	said := senders.stop()
	t.Logf("%d messages, %d requests (%d answered 503), %d broken connections, %d health checks", said.Messages,
		said.Requests, said.Unavailable, said.Sockets, checks.Load())
	if *hostileBusy == 0 && (said.Messages == 0 || said.Requests == 0 || said.Sockets == 0) {
		t.Error("a part of it did not run")
	}
	if all := said.Messages + said.Requests; lasts >= time.Hour && all < hostileAtLeast {
		t.Errorf("%d messages and requests are too few for %s", all, lasts)
	}
	h.compare()
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
