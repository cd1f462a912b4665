package testenv

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// launching is the one OS thread that starts children. On Linux the kernel kills a child when the *thread* that
// started it ends, and the Go runtime ends threads as it likes, except one that a goroutine keeps for itself.
type launching struct {
	mu    sync.Mutex
	tasks chan func()
	ended chan struct{}
}

var launcher launching

// do runs f on the launching thread.
func (l *launching) do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks == nil {
		l.tasks, l.ended = make(chan func()), make(chan struct{})
		go func(tasks <-chan func(), ended chan<- struct{}) {
			defer close(ended)
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			for f := range tasks {
				f()
			}
		}(l.tasks, l.ended)
	}
	done := make(chan struct{})
	l.tasks <- func() { defer close(done); f() }
	<-done
}

// stop ends the launching thread and with it every child that still lives.
func (l *launching) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks == nil {
		return
	}
	close(l.tasks)
	<-l.ended
	l.tasks = nil
}

// child is a started process.
type child struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone and reaped
	err   error         // what Wait said; read it after ended
}

// startChild starts cmd so that it dies with this test binary.
func startChild(cmd *exec.Cmd) (*child, error) {
	dieWithParent(cmd)
	var err error
	launcher.do(func() { err = cmd.Start() })
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, ended: make(chan struct{})}
	children.add(c)
	go func() {
		c.err = cmd.Wait()
		children.remove(c)
		close(c.ended)
	}()
	return c, nil
}

// runChild runs cmd to its end and returns what it wrote.
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

// howItEnded returns what is to be said of a process that was not to end. Call it after the end.
func (c *child) howItEnded() error {
	if c.err != nil {
		return c.err
	}
	return errors.New("exit status 0")
}

// alive tells whether the process has not ended yet.
func (c *child) alive() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// family is every child that lives.
type family struct {
	mu   sync.Mutex
	live map[*child]struct{}
}

var children = family{live: map[*child]struct{}{}}

func (f *family) add(c *child) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[c] = struct{}{}
}

func (f *family) remove(c *child) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.live, c)
}

func (f *family) killAll() {
	f.mu.Lock()
	all := make([]*child, 0, len(f.live))
	for c := range f.live {
		all = append(all, c)
	}
	f.mu.Unlock()
	for _, c := range all {
		c.kill()
	}
}
