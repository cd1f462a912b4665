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

// StartNginx starts an nginx of the test's own. lines is the content of its `http` section, with LISTEN for Addr.
func StartNginx(t T, lines string) *Server {
	t.Helper()
	return own(t, program{
		name:  "nginx",
		needs: []string{"nginx"},
		command: func(p *process) (*exec.Cmd, error) {
			user := ""
			if os.Geteuid() == 0 {
				user = "user root;" // its folders are root's
			}
			// Without a master: workers would outlive its kill.
			config := fmt.Sprintf(`daemon off;
master_process off;
%s
pid %s/pid;
error_log stderr;
events { worker_connections 2000; }
http {
  access_log off;
  client_body_temp_path %[2]s/body;
  proxy_temp_path %[2]s/proxy;
  fastcgi_temp_path %[2]s/fastcgi;
  uwsgi_temp_path %[2]s/uwsgi;
  scgi_temp_path %[2]s/scgi;
%[3]s
}
`, user, p.dir, strings.ReplaceAll(lines, "LISTEN", p.port.addr()))
			file := filepath.Join(p.dir, "nginx.conf")
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				return nil, err
			}
			return programCommand("nginx", "-e", "stderr", "-p", p.dir, "-c", file)
		},
		probe: func(ctx context.Context, p *process) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.port.addr())
			if err == nil {
				err = conn.Close()
			}
			return err
		},
	})
}
