package cli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/internal/cli"
	"redrain/rain"
)

// TestErrorsInJSON: with --json, an error is one object on standard error, whether the server or the command reports
// it.
func TestErrorsInJSON(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct {
		args   string
		exit   int
		code   string
		status float64
		detail string
	}{
		"a server's": {"campaign show nobody --json", cli.ExitFailure, "unknown_campaign", 404,
			"there is no such campaign"},
		"a usage": {"campaign create --json --packets=x", cli.ExitUsage, "usage", 0,
			`--packets: "x" is not a whole number`},
		"our own": {"campaign list --json --server http://127.0.0.1:1", cli.ExitFailure, "failed", 0, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			env := f.at()
			if strings.Contains(c.args, "--server") {
				delete(env, "REDRAIN_SERVER")
			}
			got := run(t, env, strings.Fields(c.args)...)
			var said map[string]any
			if err := json.Unmarshal([]byte(got.stderr), &said); err != nil {
				t.Fatalf("%v: %s", err, got.stderr)
			}
			status, _ := said["status"].(float64)
			detail, _ := said["detail"].(string)
			if got.code != c.exit || said["code"] != c.code || status != c.status ||
				!strings.Contains(detail, c.detail) ||
				got.stdout != "" {
				t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

// TestCompletion: a shell asks for the possible next words, and for the script that makes it ask.
func TestCompletion(t *testing.T) {
	for line, want := range map[string][]string{
		"redrain camp":            {"campaign"},
		"redrain sponsor ":        {"deposit", "list", "show"},
		"redrain rain start --st": {"--starts-at", "--starts-in"},
	} {
		t.Setenv("COMP_LINE", line)
		got := run(t, map[string]string{"COMP_LINE": line})
		words := strings.Fields(got.stdout)
		slices.Sort(words)
		if got.code != cli.ExitOK || !slices.Equal(words, want) {
			t.Errorf("%q: exit %d, %q %s", line, got.code, words, got.stderr)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if got := run(t, nil, "completion", shell); got.code != cli.ExitOK || !strings.Contains(got.stdout, "redrain") {
			t.Errorf("%s: %+v", shell, got)
		}
	}
	if got := run(t, nil, "completion", "cmd"); got.code != cli.ExitUsage {
		t.Errorf("%+v", got)
	}
}

// No error and no help text prints a secret.
func TestSecretsAreNotPrinted(t *testing.T) {
	const secret = "hunter2"
	env := map[string]string{"REDRAIN_JWT_SECRET": secret, "REDRAIN_OPERATOR_TOKEN": secret, "REDRAIN_TOKEN": secret,
		"REDRAIN_PROVIDER_SECRET": secret}
	file := writeFile(t, "viewer-token: "+secret+"\nmysql: "+secret+
		"\nredis: redis://:"+secret+"@r:1\nnope: "+secret+"\n")
	for _, args := range [][]string{
		{"--help"}, {"serve", "--help"}, {"token", "--help"}, {"watch", "--help"},
		{"--config", file, "--tap-rate=x"}, {"--jwt-sekret=" + secret}, {"--redis", "r:1", "--jwt-secret", secret},
		{"--provider=http", "--provider-url=http://:" + secret + "@pay.example", "--provider-secret=" + secret},
		{"--provider-url=http://:" + secret + "@pay.example/%zz"},
		{"--viewer-token", secret, "--mysql=" + secret}, {"token", "--user=", "--jwt-secret=" + secret},
		{"watch", "c1", "--server", "http://:" + secret + "@127.0.0.1:1"},
		{"watch", "c1", "--server", "ftp://:" + secret + "@127.0.0.1:1"},
	} {
		got := run(t, env, args...)
		if strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("redrain %v:\n%s%s", args, got.stdout, got.stderr)
		}
	}
}

func TestStopWithoutARain(t *testing.T) {
	f := newFake(t)
	f.campaign.Rains = nil
	run(t, f.at(), "rain", "stop", "c1").exits(t, cli.ExitFailure, "redrain: the campaign has no rain\n")
}

// A list that is too long for one request is sent in several.
func TestManyMembersAreAddedInSteps(t *testing.T) {
	f := newFake(t)
	args := []string{"list", "add", "vip"}
	for i := range 1001 {
		args = append(args, fmt.Sprint("u", i))
	}
	if got := run(t, f.at(), args...); got.code != cli.ExitOK || len(f.requests) != 2 ||
		!strings.HasSuffix(f.requests[0], `"u999"]}`) || !strings.HasSuffix(f.requests[1], `{"members":["u1000"]}`) {
		t.Errorf("exit %d, %d requests: %s", got.code, len(f.requests), got.stderr)
	}
}

// The server's list of faulty fields becomes a line each.
func TestRefusedFields(t *testing.T) {
	f := newFake(t)
	f.refuse(rain.Invalid{{Field: "budget", Message: "is less than packets × min (5 × 2)"},
		{Field: "split", Message: "is one of even"}})
	got := run(t, f.at(), "campaign", "create", "--name=n", "--sponsor=s", "--budget=9fen", "--packets=5")
	got.exits(t, cli.ExitFailure,
		"redrain: budget is less than packets × min (5 × 2)\n"+"redrain: split is one of even\n")
}
