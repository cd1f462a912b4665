package embedded

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/testenv"
)

// withNATS runs a server on a directory while do uses its stream and consumer, which it makes or finds again.
func withNATS(t *testing.T, dir string, do func(js jetstream.JetStream, consumer jetstream.Consumer)) {
	t.Helper()
	ctx := t.Context()
	n, err := NATS(dir)
	testenv.Must(t, err)
	defer func() { testenv.WantErr(t, n.Close(), nil) }()
	nc, err := n.Connect()
	testenv.Must(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	testenv.Must(t, err)
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "PAY", Subjects: []string{"pay.>"},
		Storage: jetstream.FileStorage})
	testenv.Must(t, err)
	consumer, err := js.CreateOrUpdateConsumer(ctx, "PAY", jetstream.ConsumerConfig{Durable: "settle",
		AckPolicy: jetstream.AckExplicitPolicy})
	testenv.Must(t, err)
	do(js, consumer)
}

func TestNATSKeepsTheStreamThroughARestart(t *testing.T) {
	dir := t.TempDir()
	var got []string
	for _, n := range []int{4, 6} {
		withNATS(t, dir, func(js jetstream.JetStream, consumer jetstream.Consumer) {
			for i := range 10 { // dropped the second time: the identities outlive the restart too
				id := strconv.Itoa(i)
				testenv.Must(t, testenv.Err(js.Publish(t.Context(), "pay.a", []byte(id), jetstream.WithMsgID(id))))
			}
			batch, err := consumer.Fetch(n, jetstream.FetchMaxWait(10*time.Second))
			testenv.Must(t, err)
			for m := range batch.Messages() {
				got = append(got, string(m.Data()))
				testenv.Must(t, m.DoubleAck(t.Context()))
			}
			testenv.Must(t, batch.Error())
		})
	}
	testenv.Equal(t, strings.Join(got, ""), "0123456789", "before and after the restart")
}

func TestNATSRemovesItsTemporaryStore(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	n, err := NATS("")
	testenv.Must(t, err)
	left := func() int {
		entries, err := os.ReadDir(os.TempDir())
		testenv.Must(t, err)
		return len(entries)
	}
	if left() != 1 {
		t.Errorf("%d directories while it runs, want 1", left())
	}
	for range 2 {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	if left() != 0 {
		t.Errorf("%d directories after Close, want 0", left())
	}
}

func TestNATSSaysThatTheStoreCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	if n, err := NATS(file); err == nil {
		_ = n.Close()
		t.Error("a server on a store that is no directory")
	} else if !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("the fault does not say what is wrong: %v", err)
	}
}

// TestNATSRecoversFromAFullDisk: a server that could not write takes no message when the disk has space again, until it
// is restarted. Its connections, and the messages that it has acknowledged, survive the restart.
func TestNATSRecoversFromAFullDisk(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	testenv.SmallDisk(t, dir, 16)
	n, err := NATS(dir)
	testenv.Must(t, err)
	defer func() { testenv.WantErr(t, n.Close(), nil) }()
	nc, err := n.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	testenv.Must(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	testenv.Must(t, err)
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "PAY", Subjects: []string{"pay"}})
	testenv.Must(t, err)
	publish := func() error {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		return testenv.Err(js.Publish(ctx, "pay", make([]byte, 8<<10)))
	}
	acknowledged := uint64(0)
	until := func(fails bool, what string) {
		t.Helper()
		testenv.Eventually(t, 20*time.Second, what, func() bool {
			err := publish()
			if err == nil {
				acknowledged++
			}
			return (err != nil) == fails
		})
	}
	until(false, "a message is stored")
	free := testenv.FillDisk(t, dir)
	until(true, "a full disk stores no message")
	free()
	for range 3 {
		testenv.WantFail(t, publish(), "with space, without a restart")
	}
	stop := testenv.Run(t, func(ctx context.Context) error {
		return n.Run(ctx, nil, slog.New(slog.DiscardHandler))
	})
	defer stop()
	until(false, "a message is stored again")
	info, err := stream.Info(ctx)
	testenv.Must(t, err)
	if info.State.Msgs < acknowledged {
		t.Errorf("%d messages in the stream, %d were acknowledged", info.State.Msgs, acknowledged)
	}

	free = testenv.FillDisk(t, dir)
	was := n.server.Load()
	until(true, "a full disk stores no message, again")
	testenv.Eventually(t, 20*time.Second, "a restart with a full disk", func() bool { return n.server.Load() != was })
	free()
	until(false, "a message is stored again")
}
