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
	cmd    *exec.Cmd
	exited chan struct{} // closed when it is gone
	err    error         // how it ended; read after exited
}

var playLine = regexp.MustCompile(`play\s+(http://\S+?)/?\s*$`)

// processOptions are what one process has that others have not.
type processOptions struct {
	flags []string  // of its command line
	env   []string  // added to its environment
	log   io.Writer // gets its standard error; nil = the test's log
	files int       // that it may have open; 0 = as many as the test
}

// startProcess runs the binary on the setting and waits until it serves. env is added to its environment.
func startProcess(t *testing.T, s setting, env ...string) *process {
	t.Helper()
	return startProcessWith(t, processOptions{env: env, flags: s.flags()})
}

// serveProcess is startProcess with flags that say which back ends it has.
func serveProcess(t *testing.T, flags ...string) *process {
	t.Helper()
	return startProcessWith(t, processOptions{flags: flags})
}

// flags are the flags of a process on the setting.
func (s setting) flags() []string {
	return []string{"--redis", s.redis, "--nats", s.nats, "--mysql", s.mysql, "--namespace", s.namespace}
}

// startProcessWith starts the binary with fault points, the same for all tests: without REDRAIN_FAULT_AT in its
// environment it behaves as any other.
func startProcessWith(t *testing.T, o processOptions) *process {
	t.Helper()
	cmd := exec.Command(testenv.Binary(t, "faults"), append([]string{
		"serve", "--listen", "127.0.0.1:0", "--operator-token", operatorToken, "--jwt-secret", jwtSecret,
		"--connections-per-user", "0", "--tap-rate", "0",
	}, o.flags...)...)
	if o.files > 0 {
		limited := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, o.files)
		cmd = exec.Command("/bin/sh", append([]string{"-c", limited}, cmd.Args...)...)
	}
	cmd.Env = append(cmd.Environ(), o.env...)
	if cmd.Stderr = o.log; o.log == nil {
		cmd.Stderr = testLog{t}
	}
	// The process dies with the test binary, also where that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{cmd: cmd, exited: make(chan struct{})}
	url := make(chan string, 1)
	go func() {
		defer close(p.exited)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := playLine.FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
		}
		_, _ = io.Copy(io.Discard, out)
		p.err = cmd.Wait()
	}()
	t.Cleanup(p.kill)
	select {
	case u := <-url:
		p.node = nodeAt(t, strings.TrimRight(u, "/"))
	case <-p.exited:
		t.Fatalf("the node ended before it served: %v", p.err)
	case <-time.After(time.Minute):
		t.Fatal("the node does not serve")
	}
	return p
}

// stop is SIGTERM.
func (p *process) stop(t *testing.T) {
	t.Helper()
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.exited:
	case <-time.After(time.Minute):
		t.Fatal("the node does not end")
	}
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.exited
}

// awaitDeath waits until the process has been killed, by itself or by somebody.
func (p *process) awaitDeath(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(limit):
		t.Fatal("the node did not pass the point at which it was to die")
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the node ended by %v, not by kill -9", p.cmd.ProcessState)
	}
}
