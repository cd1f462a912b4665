package embedded

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/testenv"
)

func startNATS(t *testing.T, dir string) *NATSServer {
	t.Helper()
	n, err := NATS(dir)
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func connect(t *testing.T, n *NATSServer) jetstream.JetStream {
	t.Helper()
	nc, err := n.Connect()
	testenv.Must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	testenv.Must(t, err)
	return js
}

// publishTen publishes 0 to 9, each under its own identity: the server drops what it has already.
func publishTen(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for i := range 10 {
		if _, err := js.Publish(context.Background(), "pay.a", []byte(strconv.Itoa(i)),
			jetstream.WithMsgID(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
}

// payStream makes the stream and its consumer, or finds them again.
func payStream(t *testing.T, js jetstream.JetStream) jetstream.Consumer {
	t.Helper()
	ctx := context.Background()
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: "PAY", Subjects: []string{"pay.>"}, Storage: jetstream.FileStorage,
	}); err != nil {
		t.Fatal(err)
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "PAY", jetstream.ConsumerConfig{
		Durable: "settle", AckPolicy: jetstream.AckExplicitPolicy,
	})
	testenv.Must(t, err)
	return consumer
}

// take reads and acknowledges n messages and returns them.
func take(t *testing.T, consumer jetstream.Consumer, n int) (got []string) {
	t.Helper()
	batch, err := consumer.Fetch(n, jetstream.FetchMaxWait(10*time.Second))
	testenv.Must(t, err)
	for m := range batch.Messages() {
		got = append(got, string(m.Data()))
		testenv.Must(t, m.DoubleAck(context.Background()))
	}
	testenv.Must(t, batch.Error())
	return got
}

func TestNATSKeepsTheStreamThroughARestart(t *testing.T) {
	dir := t.TempDir()
	func() {
		n, err := NATS(dir)
		testenv.Must(t, err)
		defer func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}()
		nc, err := n.Connect()
		testenv.Must(t, err)
		defer nc.Close()
		js, err := jetstream.New(nc)
		testenv.Must(t, err)
		consumer := payStream(t, js)
		publishTen(t, js)
		take(t, consumer, 4)
	}()

	js := connect(t, startNATS(t, dir))
	publishTen(t, js) // dropped: the identities outlive the restart too
	got := take(t, payStream(t, js), 6)
	if len(got) != 6 || got[0] != "4" || got[5] != "9" {
		t.Errorf("after the restart: %q, want 4 to 9", got)
	}
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
