package doctor

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/docs"
	"redrain/internal/testenv"
	"redrain/server/config"
)

// onStream calls do with JetStream at an address.
func onStream(t *testing.T, address string, do func(ctx context.Context, js jetstream.JetStream)) {
	t.Helper()
	nc := testenv.Got(nats.Connect(address)).Must(t)
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patiently(10*time.Second))
	defer cancel()
	do(ctx, testenv.Got(jetstream.New(nc)).Must(t))
}

// makeStream makes the payout stream as nodes do, with changes.
func makeStream(t *testing.T, address string, change ...func(*jetstream.StreamConfig)) {
	t.Helper()
	cfg := jetstream.StreamConfig{Name: "RR_PAYOUT", Subjects: []string{"rr.payout.>"}, AllowMsgTTL: true}
	for _, f := range change {
		f(&cfg)
	}
	onStream(t, address, func(ctx context.Context, js jetstream.JetStream) {
		testenv.Must(t, testenv.Err(js.CreateStream(ctx, cfg)))
	})
}

// streams are the names of the streams at an address.
func streams(t *testing.T, address string) (names []string) {
	t.Helper()
	onStream(t, address, func(ctx context.Context, js jetstream.JetStream) {
		list := js.StreamNames(ctx)
		for name := range list.Name() {
			names = append(names, name)
		}
		testenv.Must(t, list.Err())
	})
	return names
}

// startCluster starts three servers of one NATS cluster in this process, and returns the address of one.
func startCluster(t *testing.T) (address string) {
	t.Helper()
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: testenv.Addr(t)})
	}
	for _, own := range routes {
		port := testenv.Got(strconv.Atoi(own.Port())).Must(t)
		s := testenv.Got(natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT,
			ServerName: own.Host, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, Routes: routes,
			Cluster: natsserver.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}})).Must(t)
		go s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		testenv.Eventually(t, 10*time.Second, "it listens", func() bool { return s.Addr() != nil })
		address = "nats://" + s.Addr().String()
	}
	testenv.Eventually(t, 20*time.Second, "the cluster has a leader", func() bool {
		nc, err := nats.Connect(address)
		if err != nil {
			return false
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err == nil {
			_, err = js.AccountInfo(t.Context())
		}
		return err == nil && len(nc.Servers()) == 3
	})
	return address
}

// TestEachFaultOfNATS has one row for each finding, with just that wrong.
func TestEachFaultOfNATS(t *testing.T) {
	for _, c := range []struct {
		name, config string // of the server
		stream       func(*jetstream.StreamConfig)
		want         []string
	}{
		{"exact rights", docs.RightsNATS, func(*jetstream.StreamConfig) {}, nil},
		{"no stream", docs.RightsNATS, nil, []string{"warn nats_stream: the first node creates it"}},
		{"in memory", docs.RightsNATS, func(s *jetstream.StreamConfig) { s.Storage = jetstream.MemoryStorage },
			[]string{"fail nats_stream: in memory"}},
		{"small messages", docs.RightsNATS + "\nmax_payload: 65536", func(*jetstream.StreamConfig) {},
			[]string{"fail nats_payload: 65536 bytes"}},
		{"no JetStream", strings.Replace(docs.RightsNATS, "jetstream: enabled", "", 1), nil,
			[]string{"fail nats_jetstream: jetstream"}},
		{"may not publish", strings.Replace(docs.RightsNATS, `"rr.payout.>" `, "", 1), func(*jetstream.StreamConfig) {},
			[]string{"fail nats_rights: rr.payout.probe"}},
		{"may not ask", strings.Replace(docs.RightsNATS, `"$JS.API.INFO"`, "", 1), func(*jetstream.StreamConfig) {},
			[]string{"fail nats_rights: $JS.API.INFO"}},
		{"may not listen", strings.Replace(docs.RightsNATS, `subscribe: [
            "rr.control.>"`, `subscribe: [`, 1), func(*jetstream.StreamConfig) {},
			[]string{"fail nats_rights: rr.control.>"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config.Default()
			cfg.DataDir, cfg.MaxConnections = t.TempDir(), 1
			cfg.NATS = strings.Replace(testenv.StartNATSWith(t, c.config).URL, "//", "//redrain:change-me@", 1)
			if c.stream != nil {
				makeStream(t, cfg.NATS, c.stream)
			}
			wants(t, c.name, (&world{}).examine(t, cfg), c.want...)
		})
	}
}

// TestAStreamOnOneOfThreeServers is a finding, and one with replicas is none.
func TestAStreamOnOneOfThreeServers(t *testing.T) {
	cfg := config.Default()
	cfg.NATS, cfg.DataDir, cfg.MaxConnections = startCluster(t), t.TempDir(), 1
	makeStream(t, cfg.NATS)
	wants(t, "one", (&world{}).examine(t, cfg), "warn nats_replicas: is on one of 3 servers")
	onStream(t, cfg.NATS, func(ctx context.Context, js jetstream.JetStream) {
		testenv.Must(t, js.DeleteStream(ctx, "RR_PAYOUT"))
	})
	makeStream(t, cfg.NATS, func(s *jetstream.StreamConfig) { s.Replicas = 3 })
	wants(t, "three", (&world{}).examine(t, cfg))
}
