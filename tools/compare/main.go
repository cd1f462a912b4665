//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"redrain/internal/testenv"
)

func main() {
	err := start(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		_, _ = fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// start runs the baseline's server if the first argument names it, or else the comparison.
func start(args []string) error {
	if len(args) > 0 && args[0] == "baseline" {
		return serveBaseline(args[1:], os.Stdout)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := compare(ctx, args, os.Stdout, os.Stderr)
	return errors.Join(err, testenv.End())
}

// compare runs the chosen rows and prints their figures, also where a row has failed.
func compare(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(log)
	names := flags.String("rows", "", "measure these only, separated by commas:\n"+describeRows())
	rounds := flags.Int("rounds", 3, "how often redrain and what it is compared with take turns "+
		"(rows that take long: twice at most)")
	program := flags.String("redrain", "", "measure this build of redrain, such as that of the commit before. "+
		"Defaults to the checkout's")
	asJSON := flags.Bool("json", false, "print all figures of all rounds as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*names)
	if err != nil {
		return err
	}
	var failed []error
	var lines []line
	err = do(ctx, log, func(s *scope) {
		r := &run{scope: s, rounds: *rounds, back: startBackends(s)}
		r.back.redrain = *program
		for _, row := range chosen {
			began := time.Now()
			s.Logf("%s: %s", row.name, row.says)
			s.Logf("  %s", machine())
			err := do(ctx, log, func(s *scope) { row.measure(r.within(s, row.name)) })
			if err != nil {
				s.Logf("%s FAILED: %v", row.name, err)
				failed = append(failed, fmt.Errorf("row %s: %w", row.name, err))
			}
			s.Logf("%s: %.0f s", row.name, time.Since(began).Seconds())
			if ctx.Err() != nil {
				break
			}
		}
		lines = r.lines()
	})
	failed = append(failed, err)
	show := printTable
	if *asJSON {
		show = printJSON
	}
	return errors.Join(append(failed, show(out, lines))...)
}

// machine describes the load of this machine.
func machine() string {
	const busy = "where others use the machine too, only the processor times can be compared"
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return busy
	}
	load, err := fs.LoadAvg()
	if err != nil {
		return busy
	}
	return fmt.Sprintf("%d processors, load average %.1f: %s", runtime.NumCPU(), load.Load1, busy)
}

// row is a part of the comparison that can run alone.
type row struct {
	name, says string
	measure    func(*run)
}

// choose finds rows by their names, separated by commas. An empty string means all rows.
func choose(names string) ([]row, error) {
	if names == "" {
		return rows, nil
	}
	var chosen []row
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, r := range rows {
			if r.name == name {
				chosen, found = append(chosen, r), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no row %q; there are\n%s", name, describeRows())
		}
	}
	return chosen, nil
}

func describeRows() string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-9s %s\n", r.name, r.says)
	}
	return b.String()
}
