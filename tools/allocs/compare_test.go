package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const output = `goos: linux
goarch: amd64
pkg: redrain/room
cpu: AMD EPYC
BenchmarkWave/fake/1000-2         	   20000	    263.1 ns/op	      24 B/op	       3 allocs/op
BenchmarkWave/fake/1000-2         	   20000	    263.1 ns/op	      24 B/op	       2 allocs/op
BenchmarkTap-2                    	   20000	     21.5 µs/op	      4.50 allocs/tap
PASS
ok  	redrain/room	1.2s
`

func TestCompare(t *testing.T) {
	got, err := readMeasured(strings.NewReader(output), "x")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"redrain/room BenchmarkWave/fake/1000 9 allocs/op 2":   ": ok",
		"redrain/room BenchmarkWave/fake/1000 9 allocs/op 1.5": ": OVER",
		"redrain/room BenchmarkTap 9 allocs/tap 4.5 # tight":   ": ok",
		"redrain/room BenchmarkTap 9 allocs/op 4.5":            ": NOT MEASURED",
		"redrain/room BenchmarkGone 9 allocs/op 4":             ": NOT MEASURED",
	} {
		limits, err := readLimits(strings.NewReader("# a comment\n\n" + text + "\n"))
		if err != nil || len(limits) != 1 {
			t.Fatal(limits, err)
		}
		var out bytes.Buffer
		err = compare(&out, limits[0], got)
		if !strings.HasSuffix(strings.TrimSpace(out.String()), want) || errors.Is(err, errOver) != (want != ": ok") {
			t.Errorf("%s: %v\n%s", text, err, out.String())
		}
	}
}

func TestLimitsAreChecked(t *testing.T) {
	for _, text := range []string{"redrain/room BenchmarkWave allocs/op", "a b 1 c d", "a b 1 c -1", "a b 0 c 1",
		"a b x c 1", "a b 1 c 1 2"} {
		if l, err := readLimits(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read as %v", text, l)
		}
	}
}

func TestTheLimitsOfThisProgramCanBeRead(t *testing.T) {
	limits, err := readLimits(bytes.NewReader(limitsText))
	if err != nil || len(limits) == 0 {
		t.Fatal(limits, err)
	}
	if got := (limit{name: "BenchmarkWave/fake/1000"}).pattern(); got != "^BenchmarkWave$/^fake$/^1000$" {
		t.Error(got)
	}
}
