package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"redrain/internal/testenv"
)

// hostile sends whatever it can think of to one node.
type hostile struct {
	t        *testing.T
	n        *node
	campaign string
	player   string // a player's token
	pace     *rate.Limiter

	messages, requests, sockets atomic.Int64
	unavailable                 atomic.Int64 // requests that were answered 503
}

// counted waits until one message or request more may be sent, and counts it.
func (h *hostile) counted(of *atomic.Int64) {
	_ = h.pace.Wait(context.Background()) // it is one of a burst of more
	of.Add(1)
}

// sent is what the senders have to say at their end.
type sent struct {
	Messages    int64 `json:"messages"`
	Requests    int64 `json:"requests"`
	Unavailable int64 `json:"unavailable"`
	Sockets     int64 `json:"sockets"`
}

// senders are a process of their own, with the lowest priority where the players' times are judged: what those wait for
// is then the node's work, and not the making of nonsense.
type senders struct {
	t     *testing.T
	p     *testenv.Process
	stdin io.Closer
	out   bytes.Buffer // read when the process has ended
}

// sendersEnv has the node, the campaign and a seed, for TestHostileSenders.
const sendersEnv = "REDRAIN_HOSTILE_SENDERS"

type sendersOrder struct {
	URL      string  `json:"url"`
	Campaign string  `json:"campaign"`
	Seed     uint64  `json:"seed"`
	Rate     int     `json:"rate"`
	Busy     float64 `json:"busy"` // in cores; instead of sending anything
}

func startSenders(t *testing.T, n *node, campaign string) *senders {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	order, err := json.Marshal(sendersOrder{n.url, campaign, testenv.Random(t).Uint64(), *hostileRate, *hostileBusy})
	must(t, err)
	cmd := exec.Command(self, "-test.run=^TestHostileSenders$", "-test.timeout=0")
	if *onQuiet { // where anything else runs they would get no time at all
		cmd = exec.Command("nice", append([]string{"-n", "19"}, cmd.Args...)...)
	}
	cmd.Env = append(cmd.Environ(), sendersEnv+"="+string(order))
	s := &senders{t: t}
	cmd.Stdout, cmd.Stderr = &s.out, testLog{t}
	s.stdin, err = cmd.StdinPipe()
	must(t, err)
	s.p = testenv.Start(t, cmd)
	return s
}

// rest freezes the senders in the middle of what they do; work has them go on.
func (s *senders) rest() { s.t.Helper(); s.p.Signal(syscall.SIGSTOP) }
func (s *senders) work() { s.t.Helper(); s.p.Signal(syscall.SIGCONT) }

// stop ends them, and returns what they have sent.
func (s *senders) stop() (said sent) {
	s.t.Helper()
	s.work()
	_ = s.stdin.Close()
	state := s.p.Wait(2 * time.Minute)
	s.t.Logf("the senders used %s of a processor", (state.UserTime() + state.SystemTime()).Round(time.Millisecond))
	if line, _, ok := bytes.Cut(s.out.Bytes(), []byte("\n")); !state.Success() || !ok ||
		json.Unmarshal(line, &said) != nil {
		s.t.Errorf("the senders: %v: %s", state, &s.out)
	}
	return said
}

// TestHostileSenders is the other process of TestHostile, and nothing where that has not started it.
func TestHostileSenders(t *testing.T) {
	given := os.Getenv(sendersEnv)
	if given == "" {
		t.Skip("it is a part of TestHostile")
	}
	var order sendersOrder
	must(t, json.Unmarshal([]byte(given), &order))
	h := &hostile{t: t, n: nodeAt(t, order.URL), campaign: order.Campaign, player: token(t, "hostile"),
		pace: rate.NewLimiter(rate.Inf, 0)}
	if order.Rate > 0 {
		// What they have not sent while they were frozen they do not send afterwards.
		h.pace = rate.NewLimiter(rate.Limit(order.Rate), max(1, order.Rate/50))
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, os.Stdin) }()
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return t.Failed()
		}
	}
	works := []func(*rand.Rand){h.talk, h.talk, h.flood, h.breakFrames, h.ask, h.ask, h.breakHTTP}
	if order.Busy > 0 {
		works = []func(*rand.Rand){busy(order.Busy / 2), busy(order.Busy / 2)}
	}
	var working sync.WaitGroup
	for i, work := range works {
		own := rand.New(rand.NewPCG(order.Seed, uint64(i)))
		working.Go(func() {
			for !over() {
				work(own)
			}
		})
	}
	working.Wait()
	hostileClient.CloseIdleConnections()
	line, err := json.Marshal(sent{h.messages.Load(), h.requests.Load(), h.unavailable.Load(), h.sockets.Load()})
	must(t, err)
	_, err = os.Stdout.Write(append(line, '\n'))
	must(t, err)
}

// busy uses up a share of a core, in bits as small as those of who sends.
func busy(share float64) func(*rand.Rand) {
	const every = 5 * time.Millisecond
	own := time.Duration(share * float64(every))
	return func(*rand.Rand) {
		from := time.Now()
		for burnt := false; !burnt; {
			burnt = time.Since(from) >= own
		}
		<-time.After(every - own)
	}
}
