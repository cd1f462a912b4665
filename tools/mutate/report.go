package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is what came out of one package.
type result struct {
	path      string
	threshold float64
	verdicts  []verdict
	accepted  map[int]*acceptance // by mutant
	took      time.Duration
	all       int // mutants of the package, tried or not
}

func (r *result) count(outcomes ...outcome) (n int) {
	for _, v := range r.verdicts {
		if slices.Contains(outcomes, v.outcome) {
			n++
		}
	}
	return n
}

// score is the percentage of killed mutants, of those that were tried and are not accepted.
func (r *result) score() float64 {
	dead := r.count(killed, hung)
	all := dead + r.count(survived, notReached) - len(r.accepted)
	if all == 0 {
		return 100
	}
	return 100 * float64(dead) / float64(all)
}

func (r *result) good() bool { return r.score() >= r.threshold }

// say writes a text; where it cannot be written there is nobody to tell.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// survivors writes each mutant that lives and is not accepted, as file:line: original → mutant.
func (r *result) survivors(w io.Writer) {
	list := slices.Clone(r.verdicts)
	slices.SortStableFunc(list, func(a, b verdict) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
	})
	for _, v := range list {
		if !v.alive() || r.accepted[v.ID] != nil {
			continue
		}
		note := ""
		if v.outcome == notReached {
			note = " (not reached)"
		}
		say(w, "%s:%d: %s: %s [%s]%s\n", v.File, v.Line, v.Func, v.Change, v.Kind, note)
	}
}

const header = "package                   mutants  killed survived accepted  not reached  not tried   score    time"

func (r *result) row() string {
	return fmt.Sprintf("%-25s %7d %7d %8d %8d %12d %10d %6.1f%% %7s",
		r.path, len(r.verdicts), r.count(killed, hung), r.count(survived), len(r.accepted), r.count(notReached),
		r.count(notTried), r.score(), r.took.Round(time.Second))
}

// everything writes one line for each mutant, for those who want to know which test killed it.
func (r *result) everything(w io.Writer) {
	for _, v := range r.verdicts {
		say(w, "%s:%d\t%s\t%s\t%s\t%s\t%s\n", v.File, v.Line, v.Func, v.Kind, v.Change, v.outcome, v.by)
	}
}

// acceptances writes the survivors as lines for accepted.txt, which want a reason.
func (r *result) acceptances(w io.Writer) {
	for _, v := range r.verdicts {
		if v.alive() && r.accepted[v.ID] == nil {
			say(w, "%s\n", acceptLine(v.mutant))
		}
	}
}

// complete says whether every mutant of the package was tried.
func (r *result) complete() bool { return len(r.verdicts) == r.all && r.count(notTried) == 0 }

// stale writes the acceptances of the package that no survivor needs.
func (r *result) stale(w io.Writer, accepted []*acceptance) (found bool) {
	for _, a := range accepted {
		if filepath.Clean(a.pkg) == filepath.Clean(r.path) && !a.used {
			found = true
			say(w, "accepted.txt: no such survivor any more: %s, %s, %s\n", a.pkg, a.function, a.change)
		}
	}
	return found
}
