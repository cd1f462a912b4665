package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// acceptance is a survivor that may stay, with the reason. It names the code by its text, so that it
// stays true while lines move, and no longer fits when the code changes.
type acceptance struct {
	pkg, function, kind, source, change, reason string

	used bool
}

const columns = 6

// readAccepted reads the file of accepted survivors: tabs between the fields, # before a comment.
func readAccepted(name string) ([]*acceptance, error) {
	var list []*acceptance
	err := eachLine(name, func(n int, line string) error {
		fields := strings.Split(line, "\t")
		if len(fields) != columns || fields[columns-1] == "" {
			return fmt.Errorf("%s:%d: want package, function, kind, line, change, reason, with tabs between", name, n)
		}
		list = append(list, &acceptance{
			pkg: fields[0], function: fields[1], kind: fields[2], source: fields[3], change: fields[4],
			reason: fields[5],
		})
		return nil
	})
	return list, err
}

// accept returns the acceptance of a mutant, or nil.
func accept(list []*acceptance, m mutant) *acceptance {
	for _, a := range list {
		if a.pkg == folder(m) && a.function == m.Func &&
			a.kind == m.Kind && a.source == m.Source && a.change == m.Change {
			a.used = true
			return a
		}
	}
	return nil
}

func folder(m mutant) string { return filepath.ToSlash(filepath.Dir(m.File)) }

// acceptLine is how a mutant is accepted, but for the reason.
func acceptLine(m mutant) string {
	return strings.Join([]string{folder(m), m.Func, m.Kind, m.Source, m.Change, ""}, "\t")
}

// target is a package that is mutated, and the score below which the run fails.
type target struct {
	path      string   // "./rain"
	tests     []string // patterns of the packages whose tests are run
	threshold float64
}

// readTargets reads the list of packages: in each line a folder, its threshold, and further folders whose tests
// test it, too.
func readTargets(name string) ([]target, error) {
	var list []target
	err := eachLine(name, func(n int, line string) error {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			return fmt.Errorf("%s:%d: want a folder, its threshold, and folders of further tests", name, n)
		}
		threshold, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		t := target{path: "./" + fields[0], threshold: threshold, tests: []string{"./" + fields[0]}}
		for _, f := range fields[2:] {
			t.tests = append(t.tests, "./"+f)
		}
		list = append(list, t)
		return nil
	})
	return list, err
}

// eachLine calls f with each line that is neither empty nor a comment.
func eachLine(name string, f func(n int, line string) error) error {
	text, err := os.ReadFile(name) //nolint:gosec // named by who runs this
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimRight(line, " \r"); line == "" || line[0] == '#' {
			continue
		}
		if err := f(i+1, line); err != nil {
			return err
		}
	}
	return nil
}
