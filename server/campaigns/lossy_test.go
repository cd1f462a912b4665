package campaigns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/pipeline"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// lossy is an upkeep whose Redis may forget, with the way from the outbox to the ledger in the test's own hands.
type lossy struct {
	*upkeep
	publisher *pipeline.Publisher
	settler   *pipeline.Settler
	rebuilder *Rebuilder
	alarms    chan cluster.Alarm
	seen      map[rain.EntryRef]bool // entries that win has returned
}

func newLossy(t *testing.T, addr string) *lossy {
	t.Helper()
	u := newUpkeep(t, addr)
	l := &lossy{upkeep: u, seen: map[rain.EntryRef]bool{}, alarms: make(chan cluster.Alarm, 100)}
	bus, log := u.bus, slog.New(slog.DiscardHandler)
	js, err := jetstream.New(u.nc)
	testenv.Must(t, err)
	if l.publisher, err = pipeline.NewPublisher(js, "", grabtest.Ring, log); err != nil {
		t.Fatal(err)
	}
	l.settler = pipeline.NewSettler(js, grabtest.Ring, u.ledger.Poster, u.ledger.DeadLetters, u.grabber,
		cluster.NewNotifier(u.grabber, bus, log),
		pipeline.SettlerOptions{
			Log: log, Alarms: pipeline.Alarms{OnVoid: func(letters []posting.DeadLetter) { AlarmVoid(bus, letters) }},
		})
	l.rebuilder = l.another()
	_, err = u.nc.Subscribe("rr.control.alarm.*", func(m *nats.Msg) {
		var n cluster.Alarm
		if err := json.Unmarshal(m.Data[bytes.LastIndexByte(m.Data, '\n')+1:], &n); err != nil { // behind its seal
			t.Error(err)
		}
		l.alarms <- n
	})
	testenv.Must(t, err)
	return l
}

// another is the rebuilder of another node. It takes all others for dead: a lease guards nothing.
func (l *lossy) another() *Rebuilder { return l.rebuilderWith(servertest.Leases{}, "node") }

// rebuilderWith is the rebuilder of a node.
func (l *lossy) rebuilderWith(leases cluster.Leases, node string) *Rebuilder {
	n := l.node
	n.Leases, n.Name = leases, node
	return NewRebuilder(RebuilderOptions{
		Node: n, Service: l.service, Campaigns: l.ledger.Campaigns, Ledger: l.ledger.Rebuilds, Stream: l.settler,
		Outbox: store.NewOutbox(l.grabber.Store), Wins: l.grabber.Wins, Letters: l.ledger.Poster,
		Restorer: l.grabber, Epochs: l.grabber.Confirmer,
	})
}

// raining makes a campaign on which a rain falls.
func (l *lossy) raining(spec rain.Spec) *rain.Campaign {
	l.Helper()
	c := l.create(spec)
	dense, now := rain.DefaultRain(), int64(0)
	dense.StartsInMS, dense.DurationMS, dense.FallMS, dense.DropsPerSecond = &now, 60_000, 20_000, 400
	c, _, err := l.service.StartRain(l.Context(), c.ID, dense, "")
	testenv.Must(l, err)
	return c
}

// win has each user tap the k-th drop of the first wave, and returns the entries that it has added to the outboxes.
func (l *lossy) win(c *rain.Campaign, k int, users ...string) []rain.Entry {
	l.Helper()
	drop := rain.DropID{N: c.Current().FirstWave, K: k}.String()
	for _, user := range users {
		if r := grabtest.TapOn(l.grabber.Gate(c), user, drop); r.Outcome != outcome.Won {
			l.Fatalf("%s: %+v", user, r)
		}
	}
	var entries []rain.Entry
	for shard := range c.Shards {
		found, _, err := l.grabber.Page(l.Context(), c.ID, shard, "", 1000)
		testenv.Must(l, err)
		for _, e := range found {
			if !l.seen[e.Ref] {
				l.seen[e.Ref] = true
				entries = append(entries, e)
			}
		}
	}
	return entries
}

func (l *lossy) publish(entries []rain.Entry) {
	l.Helper()
	for _, e := range entries {
		testenv.Must(l, l.publisher.Publish(l.Context(), e))
	}
}

// post settles entries as the settlement workers do.
func (l *lossy) post(entries []rain.Entry) posting.Posted {
	l.Helper()
	posted, err := l.ledger.Poster.Post(l.Context(), entries)
	testenv.Must(l, err)
	for _, e := range entries {
		testenv.Must(l, l.grabber.Remove(l.Context(), []rain.EntryRef{e.Ref}))
	}
	return posted
}

// tick keeps the ledger's clock from falling behind that of Redis: a barrier is set by it.
func (l *lossy) tick() { l.now = max(l.now, time.Now().UnixMilli()) }

func (l *lossy) forget() {
	l.Helper()
	l.tick()
	testenv.Must(l, l.rdb.FlushAll(l.Context()).Err())
}

func (l *lossy) rebuild(id string) Rebuilt {
	l.Helper()
	done, err := l.rebuilder.Rebuild(l.Context(), id)
	testenv.Must(l, err)
	return done
}

// alarm waits for an alarm.
func (l *lossy) alarm(code, campaign string) {
	l.Helper()
	select {
	case n := <-l.alarms:
		if n.Code != code || n.Campaign != campaign || n.Message == "" {
			l.Errorf("the alarm %+v, want %s", n, code)
		}
	case <-time.After(time.Minute):
		l.Fatalf("no alarm %s", code)
	}
}

// quiet fails where an alarm was raised.
func (l *lossy) quiet() {
	l.Helper()
	testenv.Must(l, l.nc.Flush())
	select {
	case n := <-l.alarms:
		l.Errorf("the alarm %+v", n)
	default:
	}
}

// forgetful are the Redises that a test may flush.
var forgetful = map[string]func(t *testing.T) string{
	"in-process": func(t *testing.T) string {
		t.Helper()
		own, err := embedded.Redis()
		testenv.Must(t, err)
		t.Cleanup(own.Close)
		return own.Addr()
	},
	"real": func(t *testing.T) string { t.Helper(); return testenv.StartRedis(t).Addr },
}

func users(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return list
}
