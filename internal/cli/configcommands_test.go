package cli_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/cli"
	"redrain/internal/testenv"
)

// TestConfigCheck: the faults of the settings and of the files that they name, without a server.
func TestConfigCheck(t *testing.T) {
	good := []string{"config", "check", "--redis", "redis:6379", "--operator-token", "the operator's token"}
	testenv.Equal(t, run(t, nil, "config", "check"), outcome{cli.ExitOK, "the settings are valid\n", ""},
		"the defaults")
	testenv.Equal(t, run(t, map[string]string{"REDRAIN_JWT_SECRET": strings.Repeat("s", 32)}, good...),
		outcome{cli.ExitOK, "the settings are valid\n", ""}, "real back ends")
	got := run(t, map[string]string{"REDRAIN_TAP_RATE": "-1"}, "config", "check", "--payout-attempts", "0",
		"--listen", "x")
	if got.code != cli.ExitUsage || strings.Count(got.stderr, "\n") != 3 {
		t.Errorf("three faults: exit %d, %s", got.code, got.stderr)
	}
	run(t, nil, "config", "check", "--operators-file", "none.yaml", "--tls-cert", "none.pem", "--tls-key", "none.pem").
		exitsSaying(t, cli.ExitUsage, "--operators-file: ")
	run(t, nil, "config", "check", "--tls-cert", "none.pem", "--tls-key", "none.pem").
		exitsSaying(t, cli.ExitUsage, "none.pem")
}

// TestConfigSample: the sample passes the check, and names every setting that config print names.
func TestConfigSample(t *testing.T) {
	sample := run(t, nil, "config", "sample")
	testenv.Equal(t, sample.code, cli.ExitOK, "the exit code")
	run(t, nil, "config", "check", "--config", writeFile(t, sample.stdout)).exits(t, cli.ExitOK, "")
	var printed struct {
		Items []struct {
			Name string `json:"name"`
		} `json:"items"`
	}
	testenv.Must(t, json.Unmarshal([]byte(run(t, nil, "config", "print", "--json").stdout), &printed))
	if len(printed.Items) < 60 {
		t.Fatalf("only %d settings", len(printed.Items))
	}
	for _, s := range printed.Items {
		if !strings.Contains(sample.stdout, "\n#"+s.Name+": ") {
			t.Errorf("the sample lacks %s", s.Name)
		}
	}
}

// TestConfigPrint: each source is named, and no secret is printed.
func TestConfigPrint(t *testing.T) {
	const token = "the operator's token"
	secret := writeFile(t, strings.Repeat("s", 32))
	file := writeFile(t, "tap-rate: 7\nmysql: user:hunter2@tcp(db:3306)/redrain\n")
	env := map[string]string{"REDRAIN_HELLO_RATE": "2", "REDRAIN_CONFIG": file}
	got := run(t, env, "config", "print", "--operator-token", token, "--jwt-secret-file", secret,
		"--roles", "relay,settle")
	got.exits(t, cli.ExitOK, "")
	for _, line := range []string{
		`tap-rate +7 +file .* line 1`, `hello-rate +2 +environment REDRAIN_HELLO_RATE`, `listen +:8080 +default`,
		`roles +relay,settle +flag`, `operator-token +\*+ +flag`, `mysql +\*+ +file .* line 2`,
		`jwt-secret +\*+ +file ` + regexp.QuoteMeta(secret), `redis +default`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(got.stdout) {
			t.Errorf("no line %s in\n%s", line, got.stdout)
		}
	}
	for _, hidden := range []string{token, "hunter2", "sss"} {
		if strings.Contains(got.stdout, hidden) {
			t.Errorf("%q is printed", hidden)
		}
	}
}
