package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// binary is a compiled test binary with every mutant in it.
type binary struct {
	file string
	dir  string // of the package: tests run there
	args []string
}

// test is a top-level test, with what it reaches.
type test struct {
	binary  *binary
	name    string
	took    time.Duration
	reached map[int]bool // points
}

// buildAll compiles the tests of each package that a pattern names, with the rewritten files. Packages without
// tests are passed over.
func buildAll(ctx context.Context, root, overlay, dir string, patterns []string) ([]*binary, error) {
	packages, err := goList(ctx, root, append([]string{"-json=Dir,ImportPath,Name"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var all []*binary
	for i, p := range packages {
		b := &binary{file: filepath.Join(dir, fmt.Sprintf("%d-%s.test", i, p.Name)), dir: p.Dir}
		if err := b.build(ctx, root, overlay, p.ImportPath); err != nil {
			return nil, err
		}
		if _, err := os.Stat(b.file); err == nil {
			all = append(all, b)
		}
	}
	return all, nil
}

// build compiles the tests of one package.
func (b *binary) build(ctx context.Context, root, overlay, path string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlay, "-o", b.file, path)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", path, err, out)
	}
	b.args = []string{"-test.failfast", "-test.paniconexit0", "-test.short"}
	deps, err := goList(ctx, root, "-json=ImportPath", "-test", "-deps", path)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(deps, func(p goPackage) bool { return p.ImportPath == "pgregory.net/rapid" }) {
		// A failure is all that is asked for: no smaller example of it, and no file.
		b.args = append(b.args, "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	return nil
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)\w*$`)

// tests lists the top-level tests.
func (b *binary) tests(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, b.file, "-test.list", ".")
	cmd.Dir = b.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list tests: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(s string) bool { return !testName.MatchString(s) }), nil
}

// trace runs one test alone, without a mutant, and notes what it reaches.
func (b *binary) trace(ctx context.Context, name string, limit time.Duration) (*test, string, error) {
	file, err := os.CreateTemp("", "mutate-reached-*")
	if err != nil {
		return nil, "", err
	}
	_ = file.Close()
	defer func() { _ = os.Remove(file.Name()) }()
	begin := time.Now()
	out, err := b.run(ctx, limit, []string{name}, "MUTATE_REACHED="+file.Name())
	t := &test{binary: b, name: name, took: time.Since(begin), reached: map[int]bool{}}
	text, readErr := os.ReadFile(file.Name())
	if readErr != nil {
		return nil, "", readErr
	}
	for word := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(word); err == nil {
			t.reached[n] = true
		}
	}
	return t, out, err
}

var errTimeout = errors.New("time-out")

// run runs tests in a process of their own, in a group of its own that ends with it.
func (b *binary) run(ctx context.Context, limit time.Duration, names []string, env ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	temp, err := os.MkdirTemp("", "mutate-run-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	tests := "-test.run=^(" + strings.Join(names, "|") + ")$"
	args := append([]string{tests, "-test.timeout=" + (2 * limit).String()}, b.args...)
	// A mutant may eat memory without end: the shell's limit, in KiB of address space, ends it.
	shell := append([]string{"-c", `ulimit -v 8000000; exec "$0" "$@"`, b.file}, args...)
	cmd := exec.CommandContext(ctx, "/bin/sh", shell...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), append(env, "TMPDIR="+temp)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the tests started and left
	}
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		err = errTimeout
	}
	return string(out), err
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\w+)`)

// killer names the test that failed; where the process died otherwise, the one of the output's panic.
func killer(output string, names []string) string {
	if m := failed.FindStringSubmatch(output); m != nil {
		return m[1]
	}
	for _, n := range names {
		if strings.Contains(output, "."+n+"(") {
			return n
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return "the process"
}
