package testenv

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
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

// Wait waits for the end of the process and returns its state. It fails the test if that takes longer than within.
func (p *Process) Wait(within time.Duration) *os.ProcessState {
	p.t.Helper()
	if !p.c.endsWithin(within) {
		p.t.Fatalf("testenv: %s has not ended within %v", p.c.cmd.Path, within)
	}
	return p.c.cmd.ProcessState
}

// launcher takes functions for the one OS thread that starts children. On Linux the kernel kills a child when the
// *thread* that started it ends. The Go runtime may end any thread, except one locked by a goroutine.
var launcher = sync.OnceValue(func() chan<- func() {
	tasks := make(chan func())
	go onOneThread(tasks)
	return tasks
})

func onOneThread(tasks <-chan func()) {
	runtime.LockOSThread() // never unlocked: the thread lives as long as the process
	for task := range tasks {
		task()
	}
}

// child is a started process.
type child struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone and reaped
	err   error         // the result of Wait; read it after ended
}

// startChild starts cmd so that it dies with this test binary.
func startChild(cmd *exec.Cmd) (*child, error) {
	dieWithParent(cmd)
	started := make(chan error)
	launcher() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, ended: make(chan struct{})}
	children.Store(c, nil)
	go func() {
		c.err = cmd.Wait()
		children.Delete(c)
		close(c.ended)
	}()
	return c, nil
}

// runChild runs cmd to its end and returns its output.
func runChild(cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	c, err := startChild(cmd)
	if err != nil {
		return "", err
	}
	<-c.ended
	return out.String(), c.err
}

// signal sends sig. A process that has ended already is fine.
func (c *child) signal(sig os.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// kill ends the process at once, as kill -9 does, and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails only when it has ended already
	<-c.ended
}

// howItEnded returns the error for an unexpected end. Call it after the end.
func (c *child) howItEnded() error {
	if c.err != nil {
		return c.err
	}
	return errors.New("exit status 0")
}

// endsWithin waits for the end of the process, and reports false if that takes longer.
func (c *child) endsWithin(limit time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// children are those that live: *child → nil.
var children sync.Map

func killChildren() {
	children.Range(func(c, _ any) bool {
		c.(*child).kill()
		return true
	})
}
