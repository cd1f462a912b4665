package confirm_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/pipeline"
)

func TestMain(m *testing.M) {
	store.LogClient(slog.New(slog.DiscardHandler)) // tests that kill Redis know that it is gone
	testenv.SideBySide()
	testenv.Main(m)
}

func TestConfirmIsParsed(t *testing.T) {
	for c, name := range map[confirm.Mode]string{confirm.Redis: "redis", confirm.Replica: "replica",
		confirm.Stream: "stream"} {
		if got, err := confirm.Parse(name); err != nil || got != c || got.String() != name {
			t.Errorf("%q was read as %v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "Redis", "both"} {
		testenv.WantFail(t, testenv.Err(confirm.Parse(bad)), bad)
	}
	defer func() {
		if recover() == nil {
			t.Error("a stream to which nothing can be published was taken")
		}
	}()
	confirm.New(store.New(nil, store.Options{}), confirm.Stream, nil, nil)
}

// BenchmarkConfirm measures each mode of confirmation on a real Redis with a replica and a real JetStream. With one
// player each batch is one tap, and an op is the latency of a batch. The other case is a storm.
func BenchmarkConfirm(b *testing.B) {
	master := testenv.StartRedis(b)
	testenv.StartReplica(b, master)
	rdb := grabtest.Connect(b, master.Addr)
	testenv.Must(b, rdb.ConfigSet(b.Context(), "appendfsync", "everysec").Err()) // as in production
	stream := publisher(b)
	for _, mode := range []confirm.Mode{confirm.Redis, confirm.Replica, confirm.Stream} {
		for _, players := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s/players=%d", mode, players), func(b *testing.B) {
				grabtest.Storm(b, grabtest.New(b, rdb,
					grabtest.Setup{Packets: max(b.N, 1), Wins: 1_000_000, TapRate: 1_000_000,
						Options: func(o *grabtest.Options) {
							o.Confirm, o.Publisher = mode, stream
						}}), players)
			})
		}
	}
}

// publisher publishes entries to a stream on files.
func publisher(b *testing.B) confirm.Publisher {
	b.Helper()
	conn := testenv.Got(nats.Connect(testenv.NATS(b))).Must(b)
	b.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	testenv.Must(b, err)
	return testenv.Got(pipeline.NewPublisher(js, testenv.Namespace(b), grabtest.Ring, nil)).Must(b)
}
