package main

import (
	"regexp"
	"strings"
)

const (
	mostFaults = 4   // of one test in the summary; all of them stand where it failed
	faultWidth = 240 // characters
)

// failure is a test that has failed, or never ended, for the summary: who reads only the end of a long log must find
// there what is wrong.
type failure struct {
	testKey

	how    string
	faults []string
}

// fault is a line that says what is wrong: of t.Error, of a panic, of the race detector. What servers log is none, nor
// what testenv and rapid tell of themselves.
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
