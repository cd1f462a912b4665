package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	slowTests = 15
	slowest   = 500 * time.Millisecond // faster tests are not listed
)

// event is a line of go test -json.
type event struct {
	Action  string  `json:"action"`
	Package string  `json:"package"`
	Test    string  `json:"test"`    // empty for what is about the package
	Elapsed float64 `json:"elapsed"` // seconds
	Output  string  `json:"output"`
}

type testKey struct{ pkg, test string }

type timing struct {
	testKey

	took time.Duration
}

// report collects what go test says. What has failed is shown at once and in full, what has passed as a number.
type report struct {
	out     io.Writer
	output  map[testKey][]string // of what runs still; test is empty for what belongs to the package
	times   []timing             // of tests without those inside them
	skipped map[string]int       // reason → tests
	failed  []failure
	passing []string      // go test's last line of each package that has not failed: ok, no test files
	failing []string      // and of those that have: FAIL
	work    time.Duration // the times of all packages
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[testKey][]string{}, skipped: map[string]int{}}
}

func (r *report) add(e event) {
	key := testKey{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.hear(key, e.Output)
	case "build-output":
		r.printf("%s", e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(key, e)
		}
	}
}

// hear keeps a line until it is known whether it matters.
func (r *report) hear(key testKey, line string) {
	switch {
	case strings.HasPrefix(line, "=== "), line == "PASS\n", line == "FAIL\n":
	case key.test == "" && strings.HasPrefix(line, "FAIL\t"):
		r.failing = append(r.failing, line)
	case key.test == "" && (strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t")):
		r.passing = append(r.passing, line)
	default:
		r.output[key] = append(r.output[key], line)
	}
}

func (r *report) endTest(key testKey, e event) {
	lines := r.output[key]
	delete(r.output, key)
	switch e.Action {
	case "fail":
		r.printf("%s", strings.Join(lines, ""))
		r.failed = append(r.failed, newFailure(key, fmt.Sprintf("failed after %.1f s", e.Elapsed), lines))
	case "skip":
		r.skipped[reason(lines)]++
		return
	}
	if !strings.Contains(key.test, "/") {
		r.times = append(r.times, timing{key, seconds(e.Elapsed)})
	}
}

// logged is a line of t.Log, or of t.Skip.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)\n`)

// reason is what t.Skip was told: the last that a test logs, but for what its servers log while they stop.
func reason(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if found := logged.FindStringSubmatch(line); len(found) > 0 && !strings.Contains(found[1], " level=") {
			return found[1]
		}
	}
	return "no reason given"
}

// endPackage shows how far it is. Where the package has failed, what its tests have said that never ended is shown.
func (r *report) endPackage(e event) {
	r.work += seconds(e.Elapsed)
	byName := func(a, b testKey) int { return cmp.Compare(a.test, b.test) }
	for _, key := range slices.SortedFunc(maps.Keys(r.output), byName) {
		if key.pkg != e.Package {
			continue
		}
		if e.Action == "fail" {
			r.printf("%s", strings.Join(r.output[key], ""))
			r.failed = append(r.failed, newFailure(key, "has not ended", r.output[key]))
		}
		delete(r.output, key)
	}
	if e.Action != "skip" {
		r.printf("%-4s in %6.1f s: %s\n", e.Action, e.Elapsed, e.Package)
	}
}

// summary ends with go test's own lines, a package each: those that have passed, and, where one sees it first, what has
// failed.
func (r *report) summary(took time.Duration, missing []string) {
	slices.SortFunc(r.times, func(a, b timing) int { return cmp.Compare(b.took, a.took) })
	r.printf("\n")
	for _, t := range r.times[:min(slowTests, len(r.times))] {
		if t.took >= slowest {
			r.printf("slow %8.1f s  %s %s\n", t.took.Seconds(), t.pkg, t.test)
		}
	}
	for _, says := range slices.Sorted(maps.Keys(r.skipped)) {
		r.printf("SKIPPED %4d: %s\n", r.skipped[says], says)
	}
	for _, what := range missing {
		r.printf("LEFT OUT: %s\n", what)
	}
	r.printf("\n%d tests, %s for the packages one after the other, %s in all\n\n", len(r.times),
		r.work.Round(time.Second), took.Round(time.Second))
	r.printf("%s", strings.Join(r.passing, ""))
	for _, f := range r.failed {
		if len(f.faults) > 0 || !r.explained(f) {
			r.printf("%s\n", f)
		}
	}
	r.printf("%s", strings.Join(r.failing, ""))
}

// explained tells whether a part of what has failed says why: a test within a test, a test of a package.
func (r *report) explained(whole failure) bool {
	return slices.ContainsFunc(r.failed, func(part failure) bool {
		return part.pkg == whole.pkg && part.test != whole.test &&
			(whole.test == "" || strings.HasPrefix(part.test, whole.test+"/"))
	})
}

func (r *report) printf(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
