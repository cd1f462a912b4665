// Command mutate changes the code in many small ways and says which of the changes no test notices.
//
// All mutants of a package are compiled into one test binary, each behind a switch that an environment variable
// turns on. So there is one build for each package, and a mutant costs no more than the tests that reach it.
//
//	go run ./mutate -C .. ./rain                 # one package
//	go run ./mutate -C ..                        # those of mutate/packages.txt, with their thresholds
//	go run ./mutate -C .. -sample 100 ./payout   # a hundred of its mutants, drawn at random
//
// A survivor that may stay stands in accepted.txt with the reason. -accept prints lines to put there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

type options struct {
	root     string
	config   string
	sample   int
	seed     uint64
	budget   time.Duration
	workers  int
	accept   bool
	only     string
	tests    string
	output   string
	packages []string
}

func main() {
	o := options{}
	flag.StringVar(&o.root, "C", "..", "the checkout whose packages are mutated")
	flag.StringVar(&o.config, "config", "mutate", "the folder of packages.txt and accepted.txt")
	flag.IntVar(&o.sample, "sample", 0, "try only so many mutants of each package, drawn at random; 0: all")
	flag.Uint64Var(&o.seed, "seed", 0, "of the sample; 0: a new one, which is printed")
	flag.DurationVar(&o.budget, "budget", 0, "begin no mutant after so long; 0: no limit")
	flag.IntVar(&o.workers, "workers", 2, "mutants tried at a time")
	flag.BoolVar(&o.accept, "accept", false, "print survivors as lines for accepted.txt")
	flag.StringVar(&o.only, "only", "", "try only the mutants whose file:line: function: change fits the expression")
	flag.StringVar(&o.tests, "tests", "", "run the tests of these packages, too (\"./grab ./server/...\")")
	flag.StringVar(&o.output, "o", "", "a file for the fate of every mutant, with the test that killed it")
	flag.Parse()
	o.packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	good, err := mutate(ctx, o, os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	case !good:
		os.Exit(1)
	}
}

// mutate runs all packages. good: each has its threshold, and no acceptance is left over.
func mutate(ctx context.Context, o options, w io.Writer) (good bool, err error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return false, err
	}
	o.root = root
	targets, err := readTargets(filepath.Join(o.config, "packages.txt"))
	if err != nil {
		return false, err
	}
	accepted, err := readAccepted(filepath.Join(o.config, "accepted.txt"))
	if err != nil {
		return false, err
	}
	if targets, err = expand(ctx, root, named(targets, o.packages)); err != nil {
		return false, err
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1e9) + 1 //nolint:gosec // no secret
	}
	if o.sample > 0 || o.budget > 0 {
		say(w, "seed %d\n", o.seed)
	}
	if o.budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.budget)
		defer cancel()
	}
	out := io.Discard
	if o.output != "" {
		file, err := os.Create(o.output)
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	good = true
	var results []*result
	for _, t := range targets {
		r, err := one(ctx, o, t, accepted, w)
		if err != nil {
			return false, err
		}
		if o.accept {
			r.acceptances(w)
		} else {
			r.survivors(w)
		}
		r.everything(out)
		results = append(results, r)
		if r.complete() && r.stale(w, accepted) {
			good = false
		}
	}
	say(w, "%s\n", header)
	for _, r := range results {
		say(w, "%s\n", r.row())
		if !r.good() {
			good = false
			say(w, "%s: fewer than %.1f %% of the mutants were killed\n", r.path, r.threshold)
		}
	}
	return good, nil
}

// named are the targets of these packages; all where none is named. One that is not in the list has no threshold.
func named(targets []target, packages []string) (list []target) {
	if len(packages) == 0 {
		return targets
	}
	for _, p := range packages {
		i := slices.IndexFunc(targets, func(t target) bool { return filepath.Clean(t.path) == filepath.Clean(p) })
		if i < 0 {
			list = append(list, target{path: p, tests: []string{p}})
			continue
		}
		list = append(list, targets[i])
	}
	return list
}

// expand makes a target of each package under one that ends with "...", with the tests of all of them. Packages that
// only help tests are left out: their names end with test.
func expand(ctx context.Context, root string, targets []target) (list []target, err error) {
	for _, t := range targets {
		if !strings.HasSuffix(t.path, "/...") {
			list = append(list, t)
			continue
		}
		packages, err := goList(ctx, root, "-json=Dir,Name,GoFiles", t.path)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			folder, err := filepath.Rel(root, p.Dir)
			if err != nil {
				return nil, err
			}
			if len(p.GoFiles) > 0 && !strings.HasSuffix(p.Name, "test") {
				list = append(list, target{path: "./" + filepath.ToSlash(folder), threshold: t.threshold,
					tests: t.tests})
			}
		}
	}
	return list, nil
}

// one runs one package.
func one(ctx context.Context, o options, t target, accepted []*acceptance, w io.Writer) (*result, error) {
	begin := time.Now()
	s, err := load(ctx, o.root, t.path)
	if err != nil {
		return nil, err
	}
	code, err := rewrite(s)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutate-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := code.overlay(dir)
	if err != nil {
		return nil, err
	}
	binaries, err := buildAll(ctx, o.root, overlay, dir, append(slices.Clone(t.tests), strings.Fields(o.tests)...))
	if err != nil {
		return nil, err
	}
	say(w, "%s: %d mutants (%d places left out, which do not compile), built in %s\n",
		t.path, len(code.mutants), code.dropped, time.Since(begin).Round(time.Second))
	r := &runner{binaries: binaries, workers: o.workers, log: w}
	if err := r.traceAll(ctx); err != nil {
		return nil, err
	}
	say(w, "%s: %d tests, traced after %s; the slowest: %s\n",
		t.path, len(r.tests), time.Since(begin).Round(time.Second), r.slow())
	chosen, err := choose(code.mutants, o)
	if err != nil {
		return nil, err
	}
	result := &result{path: t.path, threshold: t.threshold, accepted: map[int]*acceptance{}, all: len(code.mutants)}
	result.verdicts = r.tryAll(ctx, chosen)
	for _, v := range result.verdicts {
		if !v.alive() {
			continue
		}
		if a := accept(accepted, v.mutant); a != nil {
			result.accepted[v.ID] = a
		}
	}
	result.took = time.Since(begin)
	return result, nil
}

// choose draws the mutants to try, in an order that makes any beginning of it a fair sample.
func choose(all []mutant, o options) ([]mutant, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, err
	}
	var chosen []mutant
	for _, m := range all {
		if only.MatchString(fmt.Sprintf("%s:%d: %s: %s [%s]", m.File, m.Line, m.Func, m.Change, m.Kind)) {
			chosen = append(chosen, m)
		}
	}
	if o.sample > 0 || o.budget > 0 {
		random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // no secret
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	}
	if o.sample > 0 {
		chosen = chosen[:min(o.sample, len(chosen))]
	}
	return chosen, nil
}
