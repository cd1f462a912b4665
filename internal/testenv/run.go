package testenv

import (
	"os"
	"os/exec"
	"time"
)

// Process is a program that a test has started. It is killed when the test ends.
type Process struct {
	t T
	c *child
}

// Start starts cmd for the test. Unlike cmd.Start it ends the program with the test, or with the test binary. Set the
// fields of cmd before, and do not call its methods.
func Start(t T, cmd *exec.Cmd) *Process {
	t.Helper()
	c, err := startChild(cmd)
	if err != nil {
		t.Fatalf("testenv: start %s: %v", cmd.Path, err)
	}
	t.Cleanup(c.kill)
	return &Process{t: t, c: c}
}

// PID is the process's id.
func (p *Process) PID() int { return p.c.cmd.Process.Pid }

// Kill ends the process at once, as kill -9 does, and waits until it is gone.
func (p *Process) Kill() { p.c.kill() }

// Signal sends a signal. A process that has ended already is fine.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.c.signal(sig); err != nil {
		p.t.Fatalf("testenv: signal %v to %s: %v", sig, p.c.cmd.Path, err)
	}
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.c.ended }

// Wait waits for the end of the process and tells how it ended. It fails the test when that takes longer than within.
func (p *Process) Wait(within time.Duration) *os.ProcessState {
	p.t.Helper()
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-p.c.ended:
	case <-timeout.C:
		p.t.Fatalf("testenv: %s has not ended within %v", p.c.cmd.Path, within)
	}
	return p.c.cmd.ProcessState
}
