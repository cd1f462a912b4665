package testenv

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// StartAlertmanager starts an Alertmanager of the test's own. It notifies a webhook.
func StartAlertmanager(t T, webhook string) *Server {
	t.Helper()
	const name = "prometheus-alertmanager"
	return own(t, program{
		name:  name,
		needs: []string{name},
		command: func(p *process) (*exec.Cmd, error) {
			config := `
route: { receiver: test, group_by: [...], group_wait: 1ms, group_interval: 100ms, repeat_interval: 1h }
receivers: [{ name: test, webhook_configs: [{ url: "` + webhook + `", send_resolved: true }] }]
`
			file := filepath.Join(p.dir, "alertmanager.yml")
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				return nil, err
			}
			return programCommand(name, "--config.file="+file, "--storage.path="+p.data,
				"--web.listen-address="+p.port.addr(), "--cluster.listen-address=")
		},
		probe: func(ctx context.Context, p *process) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.port.addr()+"/-/ready", nil)
			if err != nil {
				return err
			}
			answer, err := (&http.Client{Timeout: time.Second}).Do(req)
			if err != nil {
				return err
			}
			defer func() { _ = answer.Body.Close() }()
			if answer.StatusCode != http.StatusOK {
				return errors.New(answer.Status)
			}
			return nil
		},
	})
}
