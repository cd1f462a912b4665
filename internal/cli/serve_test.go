package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"

	"redrain/internal/cli"
	"redrain/server/config"
)

// interrupt sends this process a signal. Only do so while a command waits for it.
func interrupt(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(syscall.Getpid(), sig); err != nil {
		t.Error(err)
	}
}

// serve runs `redrain serve` with a server that is a function.
func serve(t *testing.T, run func(ctx context.Context) error, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	var writing sync.Mutex // after a second signal the command does not wait for the server's goroutine
	app := newApp(nil, &stdout, &stderr)
	app.NewServer = func(_ context.Context, _ config.Config, log *slog.Logger, out io.Writer) (cli.Server, error) {
		log.Debug("quietly")
		log.Info("starting", "answer", 42)
		writing.Lock()
		defer writing.Unlock()
		_, err := fmt.Fprintln(out, "open http://localhost:8080/")
		return runFunc(run), err
	}
	code := app.Run(append([]string{"serve"}, args...))
	writing.Lock()
	defer writing.Unlock()
	return outcome{code, stdout.String(), stderr.String()}
}

func TestServeDrainsOnASignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		drained := false
		got := serve(t, func(ctx context.Context) error {
			interrupt(t, sig)
			<-ctx.Done()
			drained = true
			return nil
		})
		if got.code != cli.ExitOK || !drained || got.stdout != "open http://localhost:8080/\n" {
			t.Errorf("%v: exit %d, drained %v, %q, %s", sig, got.code, drained, got.stdout, got.stderr)
		}
	}
}

func TestServeStopsAtOnceOnASecondSignal(t *testing.T) {
	release := make(chan struct{})
	ended := make(chan struct{})
	got := serve(t, func(ctx context.Context) error {
		defer close(ended)
		interrupt(t, syscall.SIGTERM)
		<-ctx.Done()
		interrupt(t, syscall.SIGTERM)
		<-release // a drain that takes for ever
		return nil
	})
	if got.code != cli.ExitFailure || !strings.HasSuffix(got.stderr,
		"redrain: stopped at once by a second signal, without waiting for the end\n") {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
	close(release)
	<-ended
}

func TestServeFails(t *testing.T) {
	got := serve(t, func(context.Context) error { return errors.New("listen tcp :8080: address already in use") })
	if got.code != cli.ExitFailure || !strings.HasSuffix(got.stderr,
		"redrain: listen tcp :8080: address already in use\n") {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}

	var stderr bytes.Buffer
	app := newApp(nil, io.Discard, &stderr)
	app.NewServer = func(context.Context, config.Config, *slog.Logger, io.Writer) (cli.Server, error) {
		return nil, errors.Join(errors.New("redis does not answer"), errors.New("mysql does not answer"))
	}
	if code := app.Run(nil); code != cli.ExitFailure || stderr.String() != "redrain: redis does not answer\n"+
		"redrain: mysql does not answer\n" {
		t.Errorf("exit %d, %s", code, stderr.String())
	}
}

// A signal while the server waits for its back ends is no failure.
func TestServeInterruptedAtStart(t *testing.T) {
	app := newApp(nil, io.Discard, io.Discard)
	app.NewServer = func(ctx context.Context, _ config.Config, _ *slog.Logger, _ io.Writer) (cli.Server, error) {
		interrupt(t, syscall.SIGTERM)
		<-ctx.Done()
		return nil, fmt.Errorf("waiting for redis: %w", ctx.Err())
	}
	if code := app.Run(nil); code != cli.ExitOK {
		t.Errorf("exit %d", code)
	}
}
