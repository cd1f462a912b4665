package embedded

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// readyWithin bounds the time that the server takes to restore its store; a small one takes milliseconds.
const readyWithin = 30 * time.Second

// NATSServer is a NATS server with JetStream inside this process. It listens on no port: only [NATSServer.Connect]
// reaches it.
type NATSServer struct {
	server *server.Server
	temp   string // the store directory to remove at the end; "" for none
}

// NATS starts a server that keeps its streams in storeDir; a later server on the same directory has them again. If
// storeDir is "", they are in a temporary directory that Close removes.
//
// In storeDir, every acknowledged message is on the disk and survives a power cut. A temporary store does not need
// that, and is synced every two minutes.
func NATS(storeDir string) (*NATSServer, error) {
	n := &NATSServer{}
	lasting := storeDir != ""
	if !lasting {
		temp, err := os.MkdirTemp("", "redrain-nats-*")
		if err != nil {
			return nil, fmt.Errorf("in-process nats: %w", err)
		}
		storeDir, n.temp = temp, temp
	}
	if err := n.start(storeDir, lasting); err != nil {
		return nil, errors.Join(fmt.Errorf("in-process nats in %s: %w", storeDir, err), n.removeTemp())
	}
	return n, nil
}

func (n *NATSServer) start(storeDir string, lasting bool) error {
	s, err := server.NewServer(&server.Options{
		ServerName: "redrain",
		DontListen: true,
		JetStream:  true,
		StoreDir:   storeDir,
		SyncAlways: lasting,
		NoLog:      true,
		NoSigs:     true, // signals belong to redrain
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
	n.server = s
	return nil
}

// Connect returns a new connection to the server. Close it before the server.
func (n *NATSServer) Connect(options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(options, nats.InProcessServer(n.server))...)
}

// Close ends the server and returns when everything is written and its goroutines have ended. Calling it again does
// nothing.
func (n *NATSServer) Close() error {
	n.server.Shutdown()
	n.server.WaitForShutdown()
	return n.removeTemp()
}

func (n *NATSServer) removeTemp() error {
	if n.temp == "" {
		return nil
	}
	return os.RemoveAll(n.temp)
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
