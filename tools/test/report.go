package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	tooMuch    = 3.0 // load average of a processor above which a run warns: time limits of servers may expire
	sameLines  = 3   // of a failed test's log that differ only in their figures; the others are counted
	mostListed = 6   // names in a line about what runs now
)

// event is a line of test2json.
type event struct {
	Action  string  `json:"action"`
	Package string  `json:"package"`
	Test    string  `json:"test"`    // empty for events of the package
	Elapsed float64 `json:"elapsed"` // seconds
	Output  string  `json:"output"`
}

type testKey struct{ pkg, test string }

type timing struct {
	testKey

	took time.Duration
}

// report collects the events of test binaries. A failed test is shown at once, with its log; passed ones are counted.
type report struct {
	out     io.Writer
	slow    int                  // how many slow tests the summary lists
	output  map[testKey][]string // of tests that run; the test is empty for output of the package
	times   []timing             // of tests that have a slot of their own, and of all others that are in no other test
	isSplit map[testKey]bool     // tests with parts that have slots
	skipped map[string]int       // reason → tests
	failed  []failure
	passing []string        // a line for each package, as go test prints it
	failing []string        // the same
	ended   map[string]bool // packages with a result
	work    time.Duration   // the times of all packages
}

func newReport(out io.Writer, slow int) *report {
	return &report{
		out: out, slow: slow, output: map[testKey][]string{}, skipped: map[string]int{}, isSplit: map[testKey]bool{},
		ended: map[string]bool{},
	}
}

// add takes an event. It reports whether it has printed something.
func (r *report) add(e event) bool {
	key := testKey{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.keep(key, e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.endPackage(e)
			return true
		}
		r.endTest(key, e)
		return e.Action == "fail"
	}
	return false
}

// keep stores a line until the result of its test is known.
func (r *report) keep(key testKey, line string) {
	switch {
	case strings.HasPrefix(line, "=== "), line == "PASS\n", line == "FAIL\n":
	default:
		r.output[key] = append(r.output[key], line)
	}
}

func (r *report) endTest(key testKey, e event) {
	lines := r.output[key]
	delete(r.output, key)
	switch e.Action {
	case "fail":
		r.printf("%s", strings.Join(shorten(lines), ""))
		r.failed = append(r.failed, newFailure(key, fmt.Sprintf("failed after %.1f s", e.Elapsed), lines))
	case "skip":
		r.skipped[reason(lines)]++
		return
	}
	whole, _, isPart := strings.Cut(key.test, "/")
	waited, hasSlot := slotWait(lines)
	if hasSlot {
		r.isSplit[testKey{key.pkg, whole}] = isPart
	}
	if hasSlot || !isPart && !r.isSplit[key] {
		r.times = append(r.times, timing{key, seconds(e.Elapsed) - waited})
	}
}

// slotWait returns how long a test has waited for its slot, which [testenv.Parallel] logs.
func slotWait(lines []string) (waited time.Duration, hasSlot bool) {
	for _, line := range lines {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), "testenv: waited for a slot: "); ok {
			waited, err := time.ParseDuration(text)
			return waited, err == nil
		}
	}
	return 0, false
}

// figures are the parts in which repeated lines of a log differ.
var figures = regexp.MustCompile(`[0-9a-z]*[0-9][0-9a-z.:]*`)

// shorten leaves out lines that repeat others, except for those that name a fault. For example, a client that has lost
// its server logs each of its tries.
func shorten(lines []string) []string {
	seen := map[string]int{}
	var kept []string
	left := 0
	for _, line := range lines {
		shape := figures.ReplaceAllString(line[:min(len(line), 500)], "#")
		seen[shape]++
		if seen[shape] <= sameLines || isFault(line) {
			kept = append(kept, line)
		} else {
			left++
		}
	}
	if left > 0 {
		kept = append(kept, fmt.Sprintf("    (%d lines left out that repeat others with different figures)\n", left))
	}
	return kept
}

// logged is a line of t.Log, or of t.Skip.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)\n`)

// reason is the text of t.Skip: the last line that a test logs, except for logs of servers while they stop.
func reason(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if found := logged.FindStringSubmatch(line); len(found) > 0 && !strings.Contains(found[1], " level=") {
			return found[1]
		}
	}
	return "no reason given"
}

// endPackage prints the result of a package. If it has failed, the logs of tests that have not ended are shown.
func (r *report) endPackage(e event) {
	r.work += seconds(e.Elapsed)
	byName := func(a, b testKey) int { return cmp.Compare(a.test, b.test) }
	for _, key := range slices.SortedFunc(maps.Keys(r.output), byName) {
		if key.pkg != e.Package {
			continue
		}
		if e.Action == "fail" {
			r.printf("%s", strings.Join(shorten(r.output[key]), ""))
			r.failed = append(r.failed, newFailure(key, "has not ended", r.output[key]))
		}
		delete(r.output, key)
	}
	r.printf("%-4s in %6.1f s: %s\n", e.Action, e.Elapsed, e.Package)
	r.ended[e.Package] = true
	if e.Action == "fail" {
		r.failing = append(r.failing, fmt.Sprintf("FAIL\t%s\t%.3fs\n", e.Package, e.Elapsed))
	} else {
		r.passing = append(r.passing, fmt.Sprintf("ok  \t%s\t%.3fs\n", e.Package, e.Elapsed))
	}
}

// breakOff counts a package without a result as failed.
func (r *report) breakOff(pkg string, err error) {
	if !r.ended[pkg] {
		r.ended[pkg] = true
		r.failing = append(r.failing, fmt.Sprintf("FAIL\t%s [%v]\n", pkg, err))
	}
}

// isPassed reports whether no package has failed.
func (r *report) isPassed() bool { return len(r.failing) == 0 }

// running prints the names of tests and packages that run.
func (r *report) running(after time.Duration, names []string) {
	rest := ""
	if len(names) > mostListed {
		rest = fmt.Sprintf(" and %d more", len(names)-mostListed)
		names = names[:mostListed]
	}
	r.printf("after %v: running %s%s\n", after.Round(time.Second), strings.Join(names, ", "), rest)
}

// summary ends with a line for each package: first those that have passed, then the failures and their packages.
func (r *report) summary(took time.Duration, missing []string, peak float64) {
	slices.SortFunc(r.times, func(a, b timing) int { return cmp.Compare(b.took, a.took) })
	r.printf("\n")
	for _, t := range r.times[:min(r.slow, len(r.times))] {
		r.printf("slow %8.1f s  %s %s\n", t.took.Seconds(), t.pkg, t.test)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		r.printf("SKIPPED %4d: %s\n", r.skipped[reason], reason)
	}
	for _, what := range missing {
		r.printf("LEFT OUT: %s\n", what)
	}
	r.printf("\n%d tests, %s for the packages one after the other, %s in all, peak load %.1f\n", len(r.times),
		r.work.Round(time.Second), took.Round(time.Second), peak)
	if most := tooMuch * float64(max(2, runtime.NumCPU())); peak > most {
		r.printf("WARNING: the load average was above %.0f: another program runs, or the tests are too heavy\n", most)
	}
	r.printf("\n%s", strings.Join(r.passing, ""))
	for _, f := range r.failed {
		if len(f.faults) > 0 || !r.isExplained(f) {
			r.printf("%s\n", f)
		}
	}
	r.printf("%s", strings.Join(r.failing, ""))
}

// isExplained reports whether a part of a failure has failed too: a test within a test, a test of a package.
func (r *report) isExplained(f failure) bool {
	return slices.ContainsFunc(r.failed, func(part failure) bool {
		return part.pkg == f.pkg && part.test != f.test && (f.test == "" || strings.HasPrefix(part.test, f.test+"/"))
	})
}

func (r *report) printf(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

const (
	mostFaults = 4   // of one test in the summary; all of them stand where it failed
	faultWidth = 240 // characters
)

// failure is a test that has failed, or never ended, for the summary. A reader of only the end of a long log must find
// the fault there.
type failure struct {
	testKey

	how    string
	faults []string
}

// fault matches a line that names a fault: of t.Error, of a panic, of the race detector. notFault matches the logs of
// servers and the notes of testenv and rapid.
var (
	fault    = regexp.MustCompile(`^(\s+\S+\.go:\d+: |panic: |fatal error: |WARNING: DATA RACE|testenv: )`)
	notFault = regexp.MustCompile(` level=|"level":|waited for a slot|\[rapid\] draw`)
)

func isFault(line string) bool {
	return fault.MatchString(line) && !notFault.MatchString(line)
}

func newFailure(key testKey, how string, lines []string) failure {
	f := failure{testKey: key, how: how}
	for _, line := range lines {
		if text := strings.TrimSpace(line); isFault(line) && len(f.faults) < mostFaults {
			f.faults = append(f.faults, text[:min(len(text), faultWidth)])
		}
	}
	return f
}

func (f failure) String() string {
	return strings.Join(append([]string{strings.TrimSpace(f.pkg+" "+f.test) + " " + f.how}, f.faults...), "\n        ")
}
