package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"redrain/internal/loop"
)

const (
	// readyWithin bounds the time that the server takes to restore its store; a small one takes milliseconds.
	readyWithin = 30 * time.Second
	// watchEvery is the interval of looking whether the server can still write.
	watchEvery = time.Second
	// maxStore is no limit. The disk is one.
	maxStore = 1 << 50
)

// NATSServer is a NATS server with JetStream inside this process. It listens on no port: only [NATSServer.Connect]
// reaches it.
//
// A server that could not write to its disk once takes no message for that stream any more, also when the disk has
// space again. Run restarts it.
type NATSServer struct {
	server  atomic.Pointer[server.Server]
	dir     string // of the store
	lasting bool   // the store outlives the process
}

// NATS starts a server that keeps its streams in storeDir; a later server on the same directory has them again. If
// storeDir is "", they are in a temporary directory that Close removes.
//
// In storeDir, every acknowledged message is on the disk and survives a power cut. A temporary store does not need
// that, and is synced every two minutes.
func NATS(storeDir string) (*NATSServer, error) {
	n := &NATSServer{dir: storeDir, lasting: storeDir != ""}
	if !n.lasting {
		temp, err := os.MkdirTemp("", "redrain-nats-*")
		if err != nil {
			return nil, fmt.Errorf("in-process nats: %w", err)
		}
		n.dir = temp
	}
	if err := n.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("in-process nats in %s: %w", n.dir, err), n.removeTemp())
	}
	return n, nil
}

func (n *NATSServer) start() error {
	s, err := server.NewServer(&server.Options{
		ServerName: "redrain",
		DontListen: true,
		JetStream:  true,
		StoreDir:   n.dir,
		// By default the limit is a part of the free space at the start. Then a server that starts with a full disk
		// takes no message when there is space again.
		JetStreamMaxStore: maxStore,
		SyncAlways:        n.lasting,
		NoLog:             true,
		NoSigs:            true, // signals belong to redrain
	})
	if err != nil {
		return err
	}
	// When the server gives up, it only logs the reason and Start returns.
	var words fatalLog
	s.SetLogger(&words, false, false)
	s.Start()
	if reason := words.Load(); reason != nil {
		err = errors.New(*reason)
	} else if !s.ReadyForConnections(readyWithin) {
		err = fmt.Errorf("not ready within %v", readyWithin)
	}
	if err != nil {
		s.Shutdown()
		s.WaitForShutdown()
		return err
	}
	n.server.Store(s)
	return nil
}

// Run restarts the server when it cannot write, until ctx ends. Its connections reconnect by themselves.
func (n *NATSServer) Run(ctx context.Context, recoverer *loop.Recoverer, log *slog.Logger) error {
	return loop.Run(ctx, loop.Spec{Part: "nats", Work: "keep the in-process NATS server writing", Every: watchEvery,
		Do: n.restartBroken, Recoverer: recoverer, Log: log})
}

// restartBroken restarts a server that cannot write. The first call reports why, and the next ones why it does not
// start.
func (n *NATSServer) restartBroken(context.Context) error {
	reason := n.broken()
	if reason == "" {
		return nil
	}
	n.stop()
	if err := n.start(); err != nil {
		return fmt.Errorf("restart the in-process nats server: %w", err)
	}
	return fmt.Errorf("the in-process nats server was restarted: %s", reason)
}

// broken returns the reason for which the server cannot write; "" if it can.
func (n *NATSServer) broken() string {
	s := n.server.Load()
	if s == nil {
		return "it is stopped"
	}
	answer := answer{status: http.StatusOK}
	s.HandleHealthz(&answer, &http.Request{URL: &url.URL{}})
	if answer.status == http.StatusOK {
		return ""
	}
	return answer.body
}

// answer is an answer of the server's health check.
type answer struct {
	status int
	body   string
}

// Header returns a header that is not used.
func (*answer) Header() http.Header { return http.Header{} }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write keeps the body.
func (a *answer) Write(body []byte) (int, error) {
	a.body = string(body)
	return len(body), nil
}

// stop ends the server, and returns when everything is written and its goroutines have ended.
func (n *NATSServer) stop() {
	if s := n.server.Swap(nil); s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// Connect returns a new connection to the server. Close it before the server.
func (n *NATSServer) Connect(options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(options, nats.InProcessServer(n))...)
}

// errStopped refuses a connection while the server restarts.
var errStopped = errors.New("the in-process nats server is stopped")

// InProcessConn is for the client library, which calls it at each reconnect.
func (n *NATSServer) InProcessConn() (net.Conn, error) {
	s := n.server.Load()
	if s == nil {
		return nil, errStopped
	}
	return s.InProcessConn()
}

// Close ends the server and returns when everything is written and its goroutines have ended. Run must have ended.
// Calling it again does nothing.
func (n *NATSServer) Close() error {
	n.stop()
	return n.removeTemp()
}

func (n *NATSServer) removeTemp() error {
	if n.lasting {
		return nil
	}
	return os.RemoveAll(n.dir)
}

// fatalLog is a logger for the NATS server that keeps only the reason of a fatal error.
type fatalLog struct{ atomic.Pointer[string] }

// Fatalf records the reason. The server's own logger would end the process.
func (l *fatalLog) Fatalf(format string, v ...any) { l.Store(new(fmt.Sprintf(format, v...))) }

// Noticef does nothing.
func (*fatalLog) Noticef(string, ...any) {}

// Warnf does nothing.
func (*fatalLog) Warnf(string, ...any) {}

// Errorf does nothing.
func (*fatalLog) Errorf(string, ...any) {}

// Debugf does nothing.
func (*fatalLog) Debugf(string, ...any) {}

// Tracef does nothing.
func (*fatalLog) Tracef(string, ...any) {}
