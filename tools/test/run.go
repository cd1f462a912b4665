package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"redrain/internal/testenv/testrun"
)

// packageLoad is the load of a package that schedules nothing by itself, measured with the race detector.
const packageLoad = testrun.PerProcessor

// selfScheduled are the packages whose tests ask for slots of their own, by testenv.Parallel.
var selfScheduled = []string{"redrain/internal/e2e", "redrain/web", "redrain/grab/confirm", "redrain/internal/testenv"}

// longest are the other packages whose tests take long. They begin first, so that none runs alone at the end.
var longest = []string{"redrain/payout/ledger", "redrain/server/campaigns", "redrain/payout/reconcile",
	"redrain/grab/store", "redrain/payout/pipeline", "redrain/internal/cli"}

const (
	testsWithin = time.Hour       // of one package; then go test's own alarm shows what every goroutine waits for
	killAfter   = 5 * time.Minute // after that, where even the alarm did not help
)

// runner runs test binaries, no more at once than the machine has processors for.
type runner struct {
	report   *report
	slots    *testrun.Scheduler
	convert  string   // the program test2json
	args     []string // of every test binary
	env      []string
	isSerial bool // no test asks for a slot of its own

	mu    sync.Mutex // of report and quiet
	quiet bool       // nothing was printed since the last look of progress
}

// run runs the tests of the packages. It returns an error if they could not be run to their end.
func (r *runner) run(ctx context.Context, packages []*pkg) error {
	dir, err := os.MkdirTemp("", "redrain-test-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket := filepath.Join(dir, "slots")
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- r.slots.Serve(l) }()

	watching, unwatch := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.progress(watching) })
	var all sync.WaitGroup
	waiting := make(chan *pkg)
	for range runtime.NumCPU() {
		all.Go(func() {
			for p := range waiting {
				r.inSlot(ctx, p)
			}
		})
	}
	for _, p := range inOrder(packages) {
		if !r.isSerial && slices.Contains(selfScheduled, p.ImportPath) {
			all.Go(func() { r.test(ctx, p, testrun.SlotsVariable+"="+socket) })
		} else {
			waiting <- p
		}
	}
	close(waiting)
	all.Wait()
	unwatch()
	watch.Wait()
	_ = l.Close()
	for _, p := range packages {
		r.report.breakOff(p.ImportPath, errors.New("no result"))
	}
	return errors.Join(<-served, ctx.Err())
}

// progress prints what runs now when nothing was printed for a while.
func (r *runner) progress(ctx context.Context) {
	began := time.Now()
	for tick := time.NewTicker(20 * time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			r.mu.Lock()
			if r.quiet {
				r.report.running(time.Since(began), r.slots.Running())
			}
			r.quiet = true
			r.mu.Unlock()
		}
	}
}

// inOrder puts the packages that take longest first.
func inOrder(packages []*pkg) []*pkg {
	rank := func(p *pkg) int {
		if i := slices.Index(selfScheduled, p.ImportPath); i >= 0 {
			return i
		}
		if i := slices.Index(longest, p.ImportPath); i >= 0 {
			return len(selfScheduled) + i
		}
		return len(selfScheduled) + len(longest)
	}
	return slices.SortedStableFunc(slices.Values(packages), func(a, b *pkg) int { return rank(a) - rank(b) })
}

// inSlot runs the tests of a package when the machine has room for it.
func (r *runner) inSlot(ctx context.Context, p *pkg) {
	request := testrun.Request{Name: p.ImportPath, Load: packageLoad}
	if p.ImportPath == "redrain/internal/testkit/browser/browsertest" {
		request.Kind = testrun.Browser
	}
	release, err := r.slots.Acquire(ctx, request)
	if err != nil {
		return // ctx has ended, which run returns
	}
	defer release()
	r.test(ctx, p)
}

// test runs the tests of a package, and passes their events to the report.
func (r *runner) test(ctx context.Context, p *pkg, env ...string) {
	ctx, cancel := context.WithTimeout(ctx, testsWithin+killAfter)
	defer cancel()
	// These are the arguments that go test uses: https://pkg.go.dev/cmd/test2json.
	args := []string{"-t", "-p", p.ImportPath, p.binary, "-test.v=test2json", "-test.paniconexit0",
		"-test.timeout=" + testsWithin.String()}
	cmd := exec.CommandContext(ctx, r.convert, append(args, r.args...)...)
	cmd.Dir, cmd.Env = p.Dir, slices.Concat(r.env, env, []string{"PWD=" + p.Dir})
	// The test binary and its servers go with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(cmd.Run(), in.Close()) }()
	if err := errors.Join(r.read(out), <-ended); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.report.breakOff(p.ImportPath, err)
	}
}

// read hands events to the report, however long their lines. A line that is no event is shown as it is.
func (r *runner) read(events io.Reader) error {
	for lines := bufio.NewReader(events); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var e event
		isEvent := json.Unmarshal(line, &e) == nil
		r.mu.Lock()
		if isEvent {
			r.quiet = !r.report.add(e) && r.quiet
		} else {
			r.report.printf("%s", line)
		}
		r.mu.Unlock()
	}
}
