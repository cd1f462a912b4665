package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"

	"golang.org/x/perf/benchfmt"
)

// processors matches the number of processors that go test appends to a benchmark's name.
var processors = regexp.MustCompile(`-\d+$`)

// measured maps a benchmark and a unit to the reported value.
type measured map[[2]string]float64

// readMeasured reads the output of go test -bench. The lowest of several runs of a benchmark counts, because
// everything else that the process does only adds to it.
func readMeasured(r io.Reader, name string) (measured, error) {
	got := measured{}
	results := benchfmt.NewReader(r, name)
	for results.Scan() {
		result, ok := results.Result().(*benchfmt.Result)
		if !ok {
			continue // a line about units
		}
		benchmark := "Benchmark" + processors.ReplaceAllString(result.Name.String(), "")
		for _, v := range result.Values {
			key := [2]string{benchmark, v.Unit}
			if before, twice := got[key]; !twice || v.Value < before {
				got[key] = v.Value
			}
		}
	}
	return got, results.Err()
}

// errOver says that a limit is exceeded. The line that compare has written says which.
var errOver = errors.New("a hot path allocates more than it may: " +
	"look at what has changed, or raise the limit in tools/allocs/limits.txt and say why")

// compare writes a line that says whether a benchmark keeps its limit, and returns errOver if it does not.
func compare(w io.Writer, l limit, got measured) (err error) {
	value, found := got[[2]string{l.name, l.unit}]
	verdict := "ok"
	switch {
	case !found:
		verdict, err = "NOT MEASURED", errOver
	case value > l.most:
		verdict, err = "OVER", errOver
	}
	_, _ = fmt.Fprintf(w, "%-16s %-40s %6.4g of %4g %s: %s\n", l.pkg, l.name, value, l.most, l.unit, verdict)
	return err
}
