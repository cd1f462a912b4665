package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// process is a node that runs as a process of its own, to be killed.
type process struct {
	*node
	*testenv.Process
}

var playLine = regexp.MustCompile(`play\s+(http://\S+?)/?\s*$`)

// processOptions are the differences of one process from the others.
type processOptions struct {
	binary string    // "" = of this tree, with fault points
	flags  []string  // of its command line
	env    []string  // added to its environment
	log    io.Writer // gets its standard error; nil = the test's log
	files  int       // that it may have open; 0 = as many as the test
}

// startProcess runs the binary on the setting and waits until it serves. env is added to its environment.
func startProcess(t *testing.T, s setting, env ...string) *process {
	t.Helper()
	return startProcessWith(t, processOptions{env: env, flags: s.flags()})
}

// flags are the flags of a process on the setting.
func (s setting) flags() []string {
	return []string{"--redis", s.redis, "--nats", s.nats, "--mysql", s.mysql, "--namespace", s.namespace}
}

// startProcessWith starts the binary with fault points, the same for all tests: without REDRAIN_FAULT_AT in its
// environment it behaves as any other.
func startProcessWith(t *testing.T, o processOptions) *process {
	t.Helper()
	binary := o.binary
	if binary == "" {
		binary = testenv.Binary(t, "faults")
	}
	cmd := exec.Command(binary, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--operator-token", operatorToken, "--jwt-secret", jwtSecret,
		"--connections-per-user", "0", "--tap-rate", "0", "--drain-delay", "0s",
	}, o.flags...)...)
	if o.files > 0 {
		limited := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, o.files)
		cmd = exec.Command("/bin/sh", append([]string{"-c", limited}, cmd.Args...)...)
	}
	cmd.Env = append(cmd.Environ(), o.env...)
	if cmd.Stderr = o.log; o.log == nil {
		cmd.Stderr = testLog{t}
	}
	out, in := io.Pipe()
	cmd.Stdout = in
	p := testenv.Start(t, cmd)
	url := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := playLine.FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
		}
	}()
	go func() {
		<-p.Done()
		_ = in.Close()
	}()
	select {
	case u := <-url:
		return &process{nodeAt(t, strings.TrimRight(u, "/")), p}
	case <-p.Done():
		t.Fatalf("the node ended before it served: %v", p.Wait(time.Minute))
	case <-time.After(time.Minute):
		t.Fatal("the node does not serve")
	}
	return nil
}

// awaitDeath waits until the process has been killed, by itself or from outside.
func (p *process) awaitDeath(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(limit):
		t.Fatal("the node did not pass the point at which it was to die")
	}
	state := p.Wait(limit)
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the node ended by %v, not by kill -9", state)
	}
}
