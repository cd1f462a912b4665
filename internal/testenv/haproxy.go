package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// StartHAProxy starts an haproxy of the test's own, which listens at Addr. lines is the content of its `listen` section
// after the address: the mode, options, and the servers, such as
//
//	mode http
//	option forwardfor
//	server a 127.0.0.1:4711 check inter 100ms
func StartHAProxy(t T, lines string) *Server {
	t.Helper()
	return own(t, program{
		name:  "haproxy",
		needs: []string{"haproxy"},
		command: func(p *process) (*exec.Cmd, error) {
			// The second section is for the probe only, so that it needs no server.
			config := fmt.Sprintf(`global
  maxconn 8000
defaults
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
listen ready
  mode http
  bind unix@%s
  monitor-uri /
listen front
  bind %s
%s
`, readySocket(p), p.port.addr(), lines)
			file := filepath.Join(p.dir, "haproxy.cfg")
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				return nil, err
			}
			return programCommand("haproxy", "-db", "-f", file)
		},
		probe: func(ctx context.Context, p *process) error {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", readySocket(p))
			if err == nil {
				err = conn.Close()
			}
			return err
		},
	})
}

func readySocket(p *process) string { return filepath.Join(p.dir, "ready") }
