package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// StartHAProxy starts an haproxy of the test's own, which listens at Addr. lines is the content of its `listen` section
// after the address: the mode, options, and the servers, such as
//
//	mode http
//	option forwardfor
//	server a 127.0.0.1:4711 check inter 100ms
func StartHAProxy(t T, lines string) *Server {
	t.Helper()
	return StartHAProxyWith(t, `global
  maxconn 8000
defaults
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
listen front
  bind LISTEN
`+lines)
}

// StartHAProxyWith starts an haproxy with a configuration that has LISTEN for Addr. Its statistics are at the Unix
// socket "stats" in Data.
func StartHAProxyWith(t T, config string) *Server {
	t.Helper()
	return own(t, program{
		name:  "haproxy",
		needs: []string{"haproxy"},
		command: func(p *process) (*exec.Cmd, error) {
			// The last section is for the probe only, so that it needs no server.
			text := fmt.Sprintf(`%s
global
  stats socket %s
listen ready
  mode http
  bind unix@%s
  monitor-uri /
`, strings.ReplaceAll(config, "LISTEN", p.port.addr()), filepath.Join(p.data, "stats"), readySocket(p))
			file := filepath.Join(p.dir, "haproxy.cfg")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
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
