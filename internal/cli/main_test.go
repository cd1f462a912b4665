package cli_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/server/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var golden = cli.Golden

// outcome is the result of a command line.
type outcome struct {
	code           int
	stdout, stderr string
}

// exits fails the test unless a command line has ended with a code and this on standard error.
func (o outcome) exits(t *testing.T, code int, stderr string) {
	t.Helper()
	testenv.Equal(t, o, outcome{code, o.stdout, stderr}, "the end")
}

// exitsSaying is exits with a part of standard error.
func (o outcome) exitsSaying(t *testing.T, code int, part string) {
	t.Helper()
	testenv.Equal(t, o.code, code, "exit with %s%s", o.stdout, o.stderr)
	testenv.Contains(t, o.stderr, part, "standard error")
}

// run carries out a command line in an environment. The server of `serve` is a fake that ends at once.
func run(t *testing.T, env map[string]string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := newApp(env, &stdout, &stderr).Run(args)
	return outcome{code, stdout.String(), stderr.String()}
}

func newApp(env map[string]string, stdout, stderr io.Writer) *cli.App {
	return &cli.App{
		Env:    func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Stdout: stdout, Stderr: stderr, Location: time.UTC, WatchEvery: time.Millisecond,
		NewServer: func(context.Context, config.Config, *slog.Logger, io.Writer) (cli.Server, error) {
			return runFunc(func(context.Context) error { return nil }), nil
		},
	}
}

// runFunc is a server that is its Run.
type runFunc func(ctx context.Context) error

// Run calls the function.
func (f runFunc) Run(ctx context.Context) error { return f(ctx) }

// configured is the configuration that a command line gives to the server.
func configured(t *testing.T, env map[string]string, args ...string) config.Config {
	t.Helper()
	var got config.Config
	var stderr bytes.Buffer
	app := newApp(env, io.Discard, &stderr)
	app.NewServer = func(_ context.Context, cfg config.Config, _ *slog.Logger, _ io.Writer) (cli.Server, error) {
		got = cfg
		return runFunc(func(context.Context) error { return nil }), nil
	}
	if code := app.Run(args); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	return got
}

// writeFile makes a file in a directory of the test's own.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "redrain.yml")
	testenv.Must(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
