package pipeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// quick are options for tests that lose messages: unsettled entries are published again soon.
var quick = RelayOptions{SweepEvery: 10 * time.Millisecond, Patience: 300 * time.Millisecond}

var backEnds = map[string]func(testing.TB) *pipeline{"in process": inProcess, "servers": onServers}

// TestPipeline wins, relays and settles on each kind of back end, with two nodes.
func TestPipeline(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p, c := opened(t, back, rain.Spec{Budget: 50_000, Packets: 1000, Shards: 4, Split: rain.DoubleMean})
			reg := prometheus.NewRegistry()
			testenv.Must(t, p.Register(reg))
			p.node(t, RelayOptions{Registerer: reg}, SettlerOptions{Registerer: reg})
			p.node(t, RelayOptions{}, SettlerOptions{})
			p.rainOn(c, 800)
			p.eventuallySettled(t, 20*time.Second, c, 800)
			p.CloseCampaign(t, "c1")
			for s := range c.Shards {
				p.redis.Close("c1", s)
			}
			testenv.Eventually(t, 10*time.Second, "the rest is back at the sponsor", func() bool {
				balance, err := p.SponsorBalance(t.Context(), "acme")
				_, paid, _ := p.Paid(t.Context(), "c1")
				return err == nil && balance+paid == 50_000 && p.redis.Waiting() == 0
			})
			if got := p.Prove(t, c, p.redis); !got.Balanced || got.Stock != 0 || got.Unsettled != 0 {
				t.Errorf("%+v", got)
			}
			if p.told.Distinct() != 800 {
				t.Errorf("%d claims were reported", p.told.Distinct())
			}
			testenv.Got(testutil.GatherAndCount(reg, "redrain_settled_total", "redrain_settle_seconds",
				"redrain_payout_failures_total", "redrain_dead_letters", "redrain_outbox_pending")).Want(t, 5,
				"of 5 metrics")
			p.CheckBooks(t)
		})
	}
}

// TestStreamIsLost deletes the stream, then only the consumer, with entries in all states.
func TestStreamIsLost(t *testing.T) {
	t.Parallel()
	p, c := opened(t, inProcess, rain.Spec{Budget: 600, Packets: 600, Shards: 2})
	stop := p.node(t, quick, SettlerOptions{})
	name := newStream(p.js, p.namespace, paytest.Ring).name()
	p.rainOn(c, 100)
	p.eventuallySettled(t, 10*time.Second, c, 100)
	p.rainOn(c, 100)
	testenv.Must(t, p.js.DeleteStream(t.Context(), name))
	p.rainOn(c, 100)
	p.eventuallySettled(t, 20*time.Second, c, 300)
	p.rainOn(c, 100)
	testenv.Must(t, p.js.DeleteConsumer(t.Context(), name, consumerName))
	p.rainOn(c, 100)
	p.eventuallySettled(t, 20*time.Second, c, 500)

	// Published by a node before the stream was lost.
	stop()
	p.rainOn(c, 50)
	p.relay(t, RelayOptions{}).sweep(t.Context())
	testenv.Must(t, p.js.DeleteStream(t.Context(), name))
	p.rainOn(c, 50)
	p.node(t, quick, SettlerOptions{})
	p.eventuallySettled(t, 20*time.Second, c, 600)
	p.CheckBooks(t)
}

// TestOutages stops each back end during a rain: JetStream killed, JetStream with an empty disk, the database killed,
// Redis failing. No win is lost or paid twice, and all recovers without a restart.
func TestOutages(t *testing.T) {
	natsServer, mysql := testenv.StartNATS(t), testenv.StartMySQL(t)
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(mysql.DSN) })
	p := connected(t, b, natsServer.URL)
	c := p.OpenCampaign(t, "c1", rain.Spec{Budget: 12_000, Packets: 1200, Shards: 3, Split: rain.DoubleMean})
	p.redis.Open(c)
	p.node(t, quick, SettlerOptions{})
	p.node(t, quick, SettlerOptions{})
	total := int64(0)
	for _, outage := range []struct {
		name     string
		down, up func()
	}{
		{"NATS is killed", natsServer.Kill, natsServer.Start},
		{"NATS loses its disk", natsServer.LoseData, natsServer.Start},
		{"the database is killed", mysql.Kill, mysql.Start},
		{"Redis fails", func() { p.redis.Fail(errors.New("no Redis")) }, func() { p.redis.Fail(nil) }},
		{"everything at once", func() { p.redis.Fail(errors.New("no Redis")); natsServer.LoseData(); mysql.Kill() },
			func() {
				mysql.Start()
				natsServer.Start()
				p.redis.Fail(nil)
			}},
	} {
		p.rainOn(c, 100)
		outage.down()
		p.rainOn(c, 100)
		outage.up()
		start := time.Now()
		total += 200
		p.eventuallySettled(t, 60*time.Second, c, total)
		t.Logf("%s: healed within %v", outage.name, time.Since(start).Round(time.Millisecond))
	}
	if got := p.Prove(t, c, p.redis); !got.Balanced || got.Dead != 0 {
		t.Errorf("%+v", got)
	}
	p.CheckBooks(t)
}

// TestASwitchoverOfTheDatabase: the node's connections stay with the old primary, which is read-only now. All wins are
// paid by the new one, without a restart.
func TestASwitchoverOfTheDatabase(t *testing.T) {
	old, young := testenv.StartMySQLPair(t)
	name := testenv.NewProxy(t, old.Addr)
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) {
		return sqldb.OpenMySQL(strings.Replace(old.DSN, old.Addr, name.Addr, 1))
	})
	p := connected(t, b, testenv.NATS(t))
	c := p.OpenCampaign(t, "c1", rain.Spec{Budget: 6_000, Packets: 600, Shards: 3})
	p.redis.Open(c)
	p.node(t, quick, SettlerOptions{})
	p.node(t, quick, SettlerOptions{})
	p.rainOn(c, 200)
	p.eventuallySettled(t, 20*time.Second, c, 200)
	p.rainOn(c, 100)
	old.SwitchOver(young)
	p.rainOn(c, 100)
	name.To(young.Addr)
	p.rainOn(c, 100)
	p.eventuallySettled(t, 20*time.Second, c, 500)
	if got := p.Prove(t, c, p.redis); !got.Balanced || got.Dead != 0 {
		t.Errorf("%+v", got)
	}
	p.CheckBooks(t)
}
