package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// limit is the highest value that a benchmark may report in a unit.
type limit struct {
	pkg, name, unit string
	most            float64
	times           int // iterations of the benchmark
}

// readLimits reads a table of limits: package, benchmark, iterations, unit, highest value. # begins a comment.
func readLimits(r io.Reader) ([]limit, error) {
	var limits []limit
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 5 {
			return nil, fmt.Errorf("line %d: want a package, a benchmark, a number of times, a unit and an amount", n)
		}
		times, err := strconv.Atoi(f[2])
		if err != nil || times < 1 {
			return nil, fmt.Errorf("line %d: %q is no number of times", n, f[2])
		}
		most, err := strconv.ParseFloat(f[4], 64)
		if err != nil || most < 0 {
			return nil, fmt.Errorf("line %d: %q is no amount", n, f[4])
		}
		limits = append(limits, limit{pkg: f[0], name: f[1], times: times, unit: f[3], most: most})
	}
	return limits, lines.Err()
}

// pattern is the -bench flag that selects this benchmark only: go test matches the parts of a name one by one.
func (l limit) pattern() string { return "^" + strings.ReplaceAll(l.name, "/", "$/^") + "$" }
