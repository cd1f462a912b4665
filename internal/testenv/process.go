package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	startWithin = 60 * time.Second // a loaded machine with two cores has been seen to need 10 s
	stopWithin  = 30 * time.Second
	probeEvery  = 10 * time.Millisecond
)

// program describes a server. Its functions get a process with its directory and port set.
type program struct {
	name  string
	needs []string // programs that must be installed
	// makes the empty directory p.data ready for the first start; may be nil
	prepare func(p *process) error
	command func(p *process) (*exec.Cmd, error)         // the server in the foreground; its output goes to the log
	probe   func(ctx context.Context, p *process) error // nil when it serves
}

// process is a server process, running or not, with its files.
type process struct {
	prog  program
	dir   string // everything of it
	data  string // deleted by LoseData
	port  port
	child *child
}

// launch starts a server with an empty directory on a free port.
func launch(prog program) (*process, error) {
	var failures []error
	// A program that is no test of ours may take the port between the probe and the start: then another port.
	for range 3 {
		p, err := newProcess(prog)
		if err != nil {
			return nil, err
		}
		if err = p.start(); err == nil {
			return p, nil
		}
		failures = append(failures, fmt.Errorf("port %d: %w", p.port.number, err), p.discard())
	}
	return nil, errors.Join(failures...)
}

func newProcess(prog program) (*process, error) {
	dir, err := memory.mkdir(prog.name)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &process{prog: prog, dir: dir, data: filepath.Join(dir, "data"), port: port}
	if err := p.empty(); err != nil {
		port.release()
		return nil, err
	}
	return p, nil
}

// empty makes the data those of a server that has never run.
func (p *process) empty() error {
	if err := os.RemoveAll(p.data); err != nil {
		return err
	}
	if err := os.Mkdir(p.data, 0o700); err != nil {
		return err
	}
	if p.prog.prepare == nil {
		return nil
	}
	return p.prog.prepare(p)
}

// start starts the process and waits until it serves.
func (p *process) start() error {
	if p.child != nil {
		select {
		case <-p.child.ended:
		default:
			return errors.New("it runs already")
		}
	}
	cmd, err := p.prog.command(p)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own handle
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, p.data
	if p.child, err = startChild(cmd); err != nil {
		return err
	}
	return p.awaitReady()
}

func (p *process) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		err := p.prog.probe(ctx, p)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.child.ended:
			return fmt.Errorf("it ended: %w; its log:\n%s", p.child.howItEnded(), p.logTail())
		case <-ctx.Done():
			p.kill()
			return fmt.Errorf("not ready after %v: %w; its log:\n%s", startWithin, err, p.logTail())
		}
	}
}

// kill ends the process at once if it runs.
func (p *process) kill() {
	if p.child != nil {
		p.child.kill()
	}
}

// stop asks the process to end, and waits.
func (p *process) stop() error {
	if err := p.child.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if !p.child.endsWithin(stopWithin) {
		p.kill()
		return fmt.Errorf("still there %v after SIGTERM; its log:\n%s", stopWithin, p.logTail())
	}
	return nil
}

// discard ends the process and removes all that is left of it.
func (p *process) discard() error {
	p.kill()
	p.port.release()
	// A child that a server forked to write a file may live on for a moment, and write.
	deadline := time.Now().Add(stopWithin)
	for {
		err := os.RemoveAll(p.dir)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (p *process) log() string { return filepath.Join(p.dir, "log") }

// logTail returns the last lines that the server has written.
func (p *process) logTail() string {
	const enough = 4 << 10
	text, err := os.ReadFile(p.log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-enough):])
}
