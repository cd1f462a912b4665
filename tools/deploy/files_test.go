package deploy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

// TestHAProxyFile has HAProxy check its file. internal/e2e plays through it.
func TestHAProxyFile(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	run(t, testenv.Program(t, "haproxy"), "-c", "-f", path("balancers", "haproxy.cfg"))
}

// TestNginxFile has nginx check its file. internal/e2e plays through it.
func TestNginxFile(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	nginx := testenv.Program(t, "nginx")
	dir := t.TempDir()
	folders := "http {\n" // the usual ones are root's
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		folders += fmt.Sprintf("%s_temp_path %s/%s;\n", of, dir, of)
	}
	folders += "access_log off;\n"
	config := write(t, "nginx.conf", strings.Replace(file(t, "balancers", "nginx.conf"), "http {\n", folders, 1))
	run(t, nginx, "-t", "-e", "stderr", "-p", dir, "-g", "pid "+filepath.Join(dir, "pid")+";", "-c", config)
}

// TestRules has promtool check the alert rules, and run their tests.
func TestRules(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	promtool := testenv.Program(t, "promtool")
	run(t, promtool, "check", "rules", path("prometheus", "alerts.yaml"))
	run(t, promtool, "test", "rules", path("prometheus", "alerts_test.yaml"))
	run(t, testenv.Program(t, "amtool"), "check-config", path("compose", "alertmanager.yaml"))
}

// TestUnit has systemd check the unit and rate its sandbox, and redrain the unit's command lines.
func TestUnit(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	systemd := testenv.Program(t, "systemd-analyze")
	redrain := testenv.Binary(t)
	unit := file(t, "systemd", "redrain.service")
	installed := write(t, "redrain.service", strings.ReplaceAll(unit, "/usr/bin/redrain", redrain))
	run(t, systemd, "verify", installed)
	run(t, systemd, "security", "--offline=true", "--threshold=20", installed) // tenths
	config := write(t, "redrain.yaml", run(t, redrain, "config", "sample"))
	commands := regexp.MustCompile(`(?m)^Exec(?:StartPre|Start)=/usr/bin/redrain (?:config check|serve) (.*)$`).
		FindAllStringSubmatch(unit, -1)
	testenv.Equal(t, len(commands), 2, "commands of redrain in the unit")
	for _, command := range commands {
		args := strings.Fields(strings.ReplaceAll(command[1], "/etc/redrain/redrain.yaml", config))
		run(t, redrain, append([]string{"config", "check"}, args...)...)
	}
}
