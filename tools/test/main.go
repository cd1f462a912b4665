// Command test runs the tests of redrain. It needs nothing but Go. If it may, it installs the programs that tests start
// (see install.go). Otherwise it names the tests that it leaves out.
//
//	go run -C tools ./test           # every package on real servers, one end-to-end rain on each set of back ends
//	go run -C tools ./test -quick    # unit and property tests on the in-process back ends
//	go run -C tools ./test -all      # with fault matrices and the race detector: the run of CI
//	go run -C tools ./test -nightly  # with soaks, hostile traffic for minutes and every cell of every matrix
//	go run -C tools ./test ./grab/…  # some packages
//
// With CI=true in the environment nothing may be left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"redrain/internal/testenv/testrun"
)

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "only tests on the in-process back ends")
	flag.BoolVar(&o.all, "all", false, "with fault matrices, all states of the pages, and the race detector")
	flag.BoolVar(&o.nightly, "nightly", false, "-all with soaks, and every cell of every matrix")
	flag.StringVar(&o.pattern, "run", "", "only tests that match a pattern, as for go test")
	flag.IntVar(&o.slow, "slow", 10, "how many of the slowest tests are listed at the end")
	flag.BoolVar(&o.install, "install", true, "install missing programs with apt-get, as root or by sudo")
	flag.Parse()
	o.packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

type options struct {
	quick, all, nightly, install bool

	pattern  string
	slow     int
	packages []string // patterns from the root of the repository; empty: all of both modules
}

// run reports whether all tests have passed.
func (o options) run(ctx context.Context) (bool, error) {
	began := time.Now()
	peakLoad := watchLoad()
	isAll := o.all || o.nightly
	missing := prepare(ctx, !o.quick, isAll, o.install)
	if len(missing) > 0 && os.Getenv("CI") == "true" {
		return false, fmt.Errorf("with CI=true nothing may be left out, and these are: %q", missing)
	}
	b := &builder{stderr: os.Stderr, isRace: isAll && !slices.Contains(missing, raceDetector)}
	packages, err := o.build(ctx, b)
	if err != nil {
		return false, err
	}
	convert, err := b.program(ctx, "cmd/test2json")
	if err != nil {
		return false, err
	}
	env := append(os.Environ(), o.tier())
	if o.nightly {
		env = append(b.env(ctx), o.tier()) // programs that tests build have the race detector, too
	}
	report := newReport(os.Stdout, o.slow)
	report.printf("%d test binaries compiled in %v\n", len(packages), time.Since(began).Round(time.Second))

	r := &runner{
		report: report, slots: testrun.ForMachine(), convert: convert, env: env, args: o.args(), isSerial: o.quick,
	}
	err = r.run(ctx, packages)
	report.summary(time.Since(began), missing, peakLoad())
	return report.isPassed(), err
}

// build compiles the tests of both modules, or of some packages of the first. It returns an error if one does not
// compile: then no test runs.
func (o options) build(ctx context.Context, b *builder) ([]*pkg, error) {
	if len(o.packages) > 0 {
		packages, err := b.build(ctx, "..", o.packages...)
		if err == nil && len(packages) == 0 {
			err = fmt.Errorf("no package with tests matches %q", o.packages)
		}
		return packages, err
	}
	server, err1 := b.build(ctx, "..", "./...")
	tools, err2 := b.build(ctx, ".", "./...")
	return append(server, tools...), errors.Join(err1, err2)
}

// tier is the environment entry with the tier of the run, for the test binaries.
func (o options) tier() string {
	tier := testrun.Default
	switch {
	case o.nightly:
		tier = testrun.Nightly
	case o.all:
		tier = testrun.All
	}
	return testrun.TierVariable + "=" + string(tier)
}

// args are the arguments of each test binary.
func (o options) args() []string {
	args := []string{"-test.run=" + o.pattern}
	if o.quick {
		args = append(args, "-test.short")
	}
	return args
}

// watchLoad follows the load average of a minute until stop is called, which returns its peak; 0 without /proc.
func watchLoad() (stop func() (peak float64)) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return func() float64 { return 0 }
	}
	ended, result := make(chan struct{}), make(chan float64)
	go func() {
		peak := 0.0
		for tick := time.NewTicker(time.Second); ; {
			if load, err := proc.LoadAvg(); err == nil {
				peak = max(peak, load.Load1)
			}
			select {
			case <-ended:
				tick.Stop()
				result <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() float64 { close(ended); return <-result }
}
