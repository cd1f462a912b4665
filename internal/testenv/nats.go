package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATS returns the URL of a nats-server with JetStream (file store) that the tests of this binary share. Tests keep
// apart by subjects and streams that contain a [Namespace].
func NATS(t T) string {
	t.Helper()
	return natsURL(shared(t, natsServer, sharedNATS))
}

var sharedNATS = sync.OnceValues(func() (*process, error) { return launch(natsServer) })

// StartNATS starts a nats-server of the test's own. Its file store survives Kill.
func StartNATS(t T) *Server {
	t.Helper()
	s := own(t, natsServer)
	s.URL = natsURL(s.p)
	return s
}

// StartNATSWith is StartNATS with a configuration, such as accounts. URL has no user.
func StartNATSWith(t T, config string) *Server {
	t.Helper()
	prog := natsServer
	prog.command = func(p *process) (*exec.Cmd, error) {
		file := filepath.Join(p.dir, "nats.conf")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			return nil, err
		}
		cmd, err := natsServer.command(p)
		if err == nil {
			cmd.Args = append(cmd.Args, "-c", file)
		}
		return cmd, err
	}
	prog.probe = func(ctx context.Context, p *process) error {
		greeting, err := firstLine(ctx, p.port.addr(), "")
		if err == nil && !strings.Contains(greeting, `"jetstream":true`) {
			err = fmt.Errorf("no JetStream: %s", greeting)
		}
		return err
	}
	s := own(t, prog)
	s.URL = natsURL(s.p)
	return s
}

func natsURL(p *process) string { return "nats://" + p.port.addr() }

// natsBinary builds the server that go.mod names as a tool: distributions ship versions which silently ignore newer
// stream settings. The go command keeps the result in its cache; the first time takes half a minute.
var natsBinary = sync.OnceValues(func() (string, error) {
	module, err := ModuleDir()
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "-C", module, "tool", "-n", "nats-server").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go tool -n nats-server: %w\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n") // above the path there may be lines about downloads
	return lines[len(lines)-1], nil
})

var natsServer = program{
	name:  "nats",
	needs: []string{"go"},
	command: func(p *process) (*exec.Cmd, error) {
		path, err := natsBinary()
		if err != nil {
			return nil, err
		}
		return exec.Command(path, "-a", loopback, "-p", p.port.String(), "-js", "-sd", p.data), nil
	},
	probe: jetStreamAnswers,
}

// jetStreamAnswers asks JetStream about itself: it begins to serve a moment after the port is open.
func jetStreamAnswers(ctx context.Context, p *process) error {
	nc, err := nats.Connect(natsURL(p), nats.Timeout(time.Second), nats.NoReconnect())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = js.AccountInfo(ctx)
	return err
}
