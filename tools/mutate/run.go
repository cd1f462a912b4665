package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is how a mutant ended.
type outcome string

const (
	killed     outcome = "killed"
	hung       outcome = "time-out" // killed as well: the tests do not come to their end
	survived   outcome = "survived"
	notReached outcome = "not reached"
	notTried   outcome = "not tried" // the time was over, or another sample
)

// verdict is a mutant with how it ended, and the test that ended it.
type verdict struct {
	mutant
	outcome outcome
	by      string
}

func (v verdict) alive() bool { return v.outcome == survived || v.outcome == notReached }

// slowest is how long a test may take; one that takes longer is left out.
const slowest = 20 * time.Second

// runner tries the mutants of one package.
type runner struct {
	binaries []*binary
	tests    []*test // the quickest first
	workers  int
	log      io.Writer
}

// traceAll runs every test alone. What fails without a mutant could not tell anything, and is left out.
func (r *runner) traceAll(ctx context.Context) error {
	for _, b := range r.binaries {
		names, err := b.tests(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := r.trace(ctx, b, name); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(r.tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	return nil
}

func (r *runner) trace(ctx context.Context, b *binary, name string) error {
	const most = 5 * time.Minute
	t, out, err := b.trace(ctx, name, most)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		say(r.log, "%s fails alone and without a mutant (%v), and is left out:\n%s\n", name, err, tail(out))
	case t.took > slowest:
		say(r.log, "%s takes %s, and is left out\n", name, t.took.Round(time.Second))
	case len(t.reached) > 0:
		r.tests = append(r.tests, t)
	}
	return nil
}

// slow names the tests that take longest.
func (r *runner) slow() string {
	const most = 5
	var words []string
	for _, t := range slices.Backward(r.tests[max(0, len(r.tests)-most):]) {
		words = append(words, fmt.Sprintf("%s %.1f s", t.name, t.took.Seconds()))
	}
	return strings.Join(words, ", ")
}

func tail(s string) string {
	const most = 1500
	return s[max(0, len(s)-most):]
}

// try runs the tests that reach a mutant, the quickest first.
func (r *runner) try(ctx context.Context, m mutant) verdict {
	var reaching []*test
	for _, t := range r.tests {
		if t.reached[m.Point] {
			reaching = append(reaching, t)
		}
	}
	if len(reaching) == 0 {
		return verdict{mutant: m, outcome: notReached}
	}
	share := 500 * time.Millisecond // of tests that go into one process; the next have twice as long
	for len(reaching) > 0 {
		first := reaching[0].binary
		var names []string
		var took time.Duration
		reaching = slices.DeleteFunc(reaching, func(t *test) bool {
			if t.binary != first || len(names) > 0 && took+t.took > share {
				return false
			}
			names, took = append(names, t.name), took+t.took
			return true
		})
		share *= 2
		const factor, atLeast = 5, 5 * time.Second
		out, err := first.run(ctx, atLeast+factor*took, names, fmt.Sprintf("MUTATE_ACTIVE=%d", m.ID))
		switch {
		case ctx.Err() != nil:
			return verdict{mutant: m, outcome: notTried}
		case errors.Is(err, errTimeout):
			return verdict{mutant: m, outcome: hung, by: killer(out, names)}
		case err != nil:
			return verdict{mutant: m, outcome: killed, by: killer(out, names)}
		}
	}
	return verdict{mutant: m, outcome: survived}
}

// tryAll tries mutants in the order given, some at a time, until ctx ends.
func (r *runner) tryAll(ctx context.Context, mutants []mutant) []verdict {
	verdicts := make([]verdict, len(mutants))
	next := make(chan int)
	var group sync.WaitGroup
	for range r.workers {
		group.Go(func() {
			for i := range next {
				verdicts[i] = r.try(ctx, mutants[i])
			}
		})
	}
	begin := time.Now()
	for i, m := range mutants {
		if ctx.Err() != nil {
			verdicts[i] = verdict{mutant: m, outcome: notTried}
			continue
		}
		next <- i
		if every := 100; (i+1)%every == 0 {
			say(r.log, "  %d of %d mutants, %s\n", i+1, len(mutants), time.Since(begin).Round(time.Second))
		}
	}
	close(next)
	group.Wait()
	return verdicts
}
