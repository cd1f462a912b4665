package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"redrain/internal/cli"
	"redrain/internal/testenv"
)

// TestDoctor: the exit codes, the lines, and JSON.
func TestDoctor(t *testing.T) {
	sound := run(t, nil, "doctor", "--max-connections", "1", "--data-dir", t.TempDir())
	sound.exits(t, cli.ExitOK, "")
	for _, line := range lines(sound.stdout) {
		if !strings.HasPrefix(line, "ok    ") || !strings.Contains(line, " (docs/use/") {
			t.Errorf("the line %q", line)
		}
	}
	lost := run(t, nil, "doctor", "--max-connections", "1")
	lost.exits(t, cli.ExitOK, "")
	testenv.Contains(t, lost.stdout, "warn  data_dir ", "in-process back ends")
	run(t, nil, "doctor", "--tap-rate", "-1", "--nodes", "0").exitsSaying(t, cli.ExitUsage, "--nodes")
	run(t, nil, "doctor", "--tls-cert", "none.pem", "--tls-key", "none.pem").
		exitsSaying(t, cli.ExitUsage, "none.pem")
}

// TestDoctorNamesAllAtOnce: all back ends are away, and no secret is printed.
func TestDoctorNamesAllAtOnce(t *testing.T) {
	const secret = "hunter2hunter2hunter2hunter2hunter2"
	signing := "whsec_" + strings.Repeat("aHVudGVy", 4)
	env := map[string]string{
		"REDRAIN_REDIS": "redis://user:" + secret + "@127.0.0.1:1",
		"REDRAIN_NATS":  "nats://user:" + secret + "@127.0.0.1:1",
		"REDRAIN_MYSQL": "user:" + secret + "@tcp(127.0.0.1:1)/redrain", "REDRAIN_OPERATOR_TOKEN": "o" + secret,
		"REDRAIN_VIEWER_TOKEN": "v" + secret, "REDRAIN_JWT_SECRET": secret,
		"REDRAIN_JWKS_URL": "https://user:" + secret + "@127.0.0.1:1/?token=" + secret, "REDRAIN_PROVIDER": "http",
		"REDRAIN_PROVIDER_URL": "https://user:" + secret + "@127.0.0.1:1/", "REDRAIN_PROVIDER_SECRET": signing,
		"REDRAIN_RISK_URL": "https://127.0.0.1:1/?token=" + secret, "REDRAIN_RISK_SECRET": signing,
	}
	text, asJSON := run(t, env, "doctor"), run(t, env, "doctor", "--json")
	text.exits(t, cli.ExitFailure, "redrain: 6 checks failed\n")
	testenv.Equal(t, asJSON.code, cli.ExitFailure, "the exit code with --json")
	var answer struct {
		Findings []struct {
			Check string `json:"check"`
			Level string `json:"level"`
			Text  string `json:"text"`
			Link  string `json:"link"`
		} `json:"findings"`
	}
	testenv.Must(t, json.Unmarshal([]byte(asJSON.stdout), &answer))
	failed := map[string]bool{}
	for _, f := range answer.Findings {
		if f.Level == "fail" && f.Text != "" && f.Link != "" {
			failed[f.Check] = true
		}
	}
	testenv.Equal(t, failed, map[string]bool{"redis": true, "nats": true, "mysql": true, "jwks_url": true,
		"provider_url": true, "risk_url": true}, "failed checks")
	for _, out := range []string{text.stdout, text.stderr, asJSON.stdout, asJSON.stderr} {
		if strings.Contains(out, "hunter2") || strings.Contains(out, signing) {
			t.Errorf("a secret is printed:\n%s", out)
		}
	}
}
