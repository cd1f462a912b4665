package cluster

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/seal"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// believer is a node that notes the notices that it receives and refuses.
type believer struct {
	*Bus

	mu     sync.Mutex
	heard  []string
	forged int
	reason string
}

// newBeliever runs a node on the connection of another one, with the options o.
func newBeliever(t *testing.T, nc *nats.Conn, o BusOptions) *believer {
	t.Helper()
	h := &believer{}
	o.Registerer = prometheus.NewRegistry()
	o.Forged = func(count int, reason string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.forged, h.reason = h.forged+count, reason
	}
	h.Bus = NewBus(nc, o)
	note := func(topic string) func(string) { return func(campaign string) { h.note(topic + " " + campaign) } }
	err := h.Listen(nil, Listener{
		Changed: func(campaign string, _ int64) { note(topicChanged)(campaign) },
		Settled: func(campaign string, _ Settled) { note(topicSettled)(campaign) },
		Won:     func(campaign string, _ Won) { note(topicWon)(campaign) },
		Figures: func(campaign string, _ Figures) { note(topicFigures)(campaign) },
		SoldOut: func(campaign string, _ rain.Lane) { note(topicSoldOut)(campaign) }, Restored: note(topicRestored),
		Dry:       func(campaign string, _ DryShard) { note(topicDry)(campaign) },
		Restocked: func(campaign string, _ int) { note(topicStocked)(campaign) },
		Alarm:     func(n Alarm) { note(topicAlarm)(n.Campaign) },
		Withdrawn: func(Withdrawn) { note(topicMoney)("") },
	})
	testenv.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = h.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	testenv.Must(t, nc.Flush())
	return h
}

func (h *believer) note(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = append(h.heard, what)
}

// told returns the received notices.
func (h *believer) told() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.heard)
}

func (h *believer) until(t *testing.T, what string, so func() bool) {
	t.Helper()
	testenv.Eventually(t, time.Minute, what, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return so()
	})
}

// everything publishes one notice of each kind, about campaign c.
func everything(t *testing.T, b *Bus) (topics []string) {
	t.Helper()
	b.Changed(&rain.Campaign{ID: "c"})
	b.hint(topicWon, "c", Won{})
	b.Figures("c", Figures{})
	b.SoldOut("c", rain.LanePlayers)
	b.Dry("c", 0, 1)
	b.Restocked("c", 0)
	b.Restored("c")
	b.Alarm("code", "c", "message")
	err := errors.Join(b.Withdrawn(Withdrawn{}),
		b.Settled("c", []posting.Settlement{{Campaign: "c", Claim: "c-1", User: "u"}}))
	testenv.Must(t, err)
	return []string{topicChanged, topicWon, topicFigures, topicSoldOut, topicDry, topicStocked, topicRestored,
		topicAlarm, topicMoney, topicSettled}
}

// Access to NATS alone forges no notice. Nodes refuse any kind of notice without a seal, with the seal of another
// installation's key, with altered text or on another subject.
func TestForgedNoticesAreRefused(t *testing.T) {
	bus := newTestBus(t)
	h := newBeliever(t, bus.nc, bus.o)
	var sent []*nats.Msg
	sub, err := bus.nc.Subscribe("rr.control.>", func(m *nats.Msg) { sent = append(sent, m) })
	testenv.Must(t, err)
	topics := everything(t, bus)
	h.until(t, "what this installation has sent is heard", func() bool { return len(h.heard) == len(topics) })
	testenv.Must(t, sub.Drain())
	testenv.Eventually(t, time.Minute, "all is noted", func() bool { return !sub.IsValid() })
	if len(sent) != len(topics) {
		t.Fatalf("%d notices of %d kinds", len(sent), len(topics))
	}
	forged := 0
	forge := func(subject string, data []byte) {
		t.Helper()
		testenv.Must(t, bus.nc.Publish(subject, data))
		forged++
	}
	strange := bus.o
	strange.Sealer = seal.NewRing(seal.Secret{9})
	for _, m := range sent {
		first, rest, _ := bytes.Cut(m.Data, []byte("\n"))
		_, text, _ := bytes.Cut(rest, []byte("\n"))
		forge(m.Subject, text)
		forge(m.Subject, append(slices.Clone(m.Data), ' '))
		forge(m.Subject, append(append(slices.Clone(first), "\n9"...), rest...)) // another time
		forge(m.Subject, NewBus(bus.nc, strange).sealed(m.Subject, text))
		if prefix, ofCampaign := strings.CutSuffix(m.Subject, ".c"); ofCampaign {
			forge(prefix+".d", m.Data)
		}
	}
	forge("rr.control.soldout.c", sent[5].Data) // restocked
	h.until(t, "all are refused", func() bool { return h.forged == forged })
	if heard := h.told(); len(heard) != len(topics) {
		t.Errorf("believed %q", heard[len(topics):])
	}
	if n := testutil.ToFloat64(h.refused.seal); n != float64(forged) || !strings.Contains(h.reason, "rr.control.") {
		t.Errorf("%v are counted as refused of %d: %s", n, forged, h.reason)
	}
	h.SoldOut("c", rain.LanePlayers) // and it goes on
	h.until(t, "what comes later is heard", func() bool { return len(h.heard) == len(topics)+1 })
}

// A notice that is sent again when it is old is no forgery, and not believed.
func TestOldNoticesAreRefused(t *testing.T) {
	bus := newTestBus(t)
	h := newBeliever(t, bus.nc, bus.o)
	for _, off := range []time.Duration{-2 * noticeWithin, 2 * noticeWithin, noticeWithin / 2} {
		o := bus.o
		o.Clock = func() int64 { return time.Now().Add(off).UnixMilli() }
		NewBus(bus.nc, o).Restocked("c", 0)
	}
	testenv.Eventually(t, time.Minute, "two are refused", func() bool { return testutil.ToFloat64(h.refused.old) == 2 })
	h.until(t, "one is heard", func() bool { return len(h.heard) == 1 })
	testenv.Equal(t, h.forged, 0, "a wrong clock is reported as a forgery")
}

// A notice with a key that is newer than a node's is handled after the node has read the keys. If it cannot read them,
// the notice is dropped, and does not count as forged.
func TestANewerKeyOfANotice(t *testing.T) {
	bus := newTestBus(t)
	ring, away := seal.NewRing(seal.Secret{1}), errors.New("away")
	o := bus.o
	o.Sealer = ring
	var mu sync.Mutex
	reads := 0
	o.RefreshSeals = func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if reads++; reads == 1 {
			return away
		}
		ring.Replace(seal.Secret{2}, seal.Secret{1})
		return nil
	}
	h := newBeliever(t, bus.nc, o)
	rotated := bus.o
	rotated.Sealer = seal.NewRing(seal.Secret{2}, seal.Secret{1})
	teller := NewBus(bus.nc, rotated)
	teller.SoldOut("lost", rain.LanePlayers)
	testenv.Eventually(t, time.Minute, "one is dropped", func() bool {
		return testutil.ToFloat64(h.refused.unchecked) == 1
	})
	testenv.Must(t, teller.Settled("c", []posting.Settlement{{Campaign: "c", Drop: "1", User: "u"}}))
	teller.SoldOut("kept", rain.LanePlayers)
	h.until(t, "both are heard", func() bool { return len(h.heard) == 2 })
	bus.SoldOut("kept", rain.LanePlayers) // with the key before
	h.until(t, "the key before is good", func() bool { return len(h.heard) == 3 })
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.forged != 0 || slices.Contains(h.heard, "soldout lost") {
		t.Errorf("%d are reported as forged, heard %q", h.forged, h.heard)
	}
}
