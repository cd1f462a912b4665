// Command test runs the tests of redrain. It needs Go and nothing else: what the tests start besides, it installs
// where it may (see install.go), and it says what is left out where it may not.
//
//	go run -C tools ./test           # all tests, on real servers
//	go run -C tools ./test -quick    # unit and property tests, in this process
//	go run -C tools ./test -all      # all tests, with the race detector: what CI runs
//	go run -C tools ./test ./grab/…  # those of some packages
//
// With CI=true in the environment nothing may be left out.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"
)

func main() {
	began := time.Now()
	quick := flag.Bool("quick", false, "only what needs no servers and little time")
	all := flag.Bool("all", false, "with the race detector")
	install := flag.Bool("install", true, "install missing programs with apt-get, as root or by sudo")
	flag.Parse()
	ctx := context.Background()
	// Ctrl-C ends go test, which hears of it as well; what it has found until then is worth a summary.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)

	// The go command does not see that a server has been installed: what passed without it must run again.
	r := &runner{report: newReport(os.Stdout), packages: flag.Args(), flags: []string{"-count=1"}}
	missing := prepare(ctx, !*quick, *all, *install)
	switch {
	case len(missing) > 0 && os.Getenv("CI") == "true":
		fmt.Fprintln(os.Stderr, "test: with CI=true nothing may be left out")
		os.Exit(1)
	case *quick:
		r.flags = []string{"-short"}
	case *all && !slices.Contains(missing, raceDetector):
		r.race = true
	}
	ok := r.run(ctx)
	r.report.summary(time.Since(began), missing)
	if !ok {
		os.Exit(1)
	}
}
