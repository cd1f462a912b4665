package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"redrain/internal/testenv/testrun"
)

// The race detector skips SQLite, which is translated C, and the Lua of the in-process Redis. Calls into them pass
// through database/sql and one lock, and with the detector they take five times as long. The flags are in the
// environment, so that programs that tests build with the detector share the compiled packages.
const unwatched = "-gcflags=modernc.org/...=-race=false -gcflags=github.com/yuin/gopher-lua/...=-race=false " +
	"-gcflags=github.com/pingcap/...=-race=false"

// pkg is a package with tests.
type pkg struct {
	ImportPath   string   `json:"ImportPath"`   //nolint:tagliatelle // the go command's names
	Dir          string   `json:"Dir"`          //nolint:tagliatelle // the same
	TestGoFiles  []string `json:"TestGoFiles"`  //nolint:tagliatelle // the same
	XTestGoFiles []string `json:"XTestGoFiles"` //nolint:tagliatelle // the same

	binary string // its test binary
}

// builder compiles test binaries. It keeps them between runs, because the go command links only changed ones. They have
// no paths of the checkout, so that all checkouts share the compiled packages.
type builder struct {
	isRace bool
	stderr io.Writer
}

// env is the environment of the go command.
func (b *builder) env(ctx context.Context) []string {
	if !b.isRace {
		return os.Environ()
	}
	given, _ := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
	return append(os.Environ(), "GOFLAGS="+strings.TrimSpace(strings.TrimSpace(string(given))+" "+unwatched))
}

// build compiles the tests of the packages that match the patterns in the module at dir. It returns those that have
// tests, and an error if some do not compile.
func (b *builder) build(ctx context.Context, dir string, patterns ...string) ([]*pkg, error) {
	const fields = "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-C", dir, fields}, patterns...)...)
	list.Stderr = b.stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	var all []*pkg
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &pkg{}
		switch err := packages.Decode(p); {
		case errors.Is(err, io.EOF):
			return all, b.compile(ctx, dir, all)
		case err != nil:
			return nil, fmt.Errorf("list packages: %w", err)
		case len(p.TestGoFiles)+len(p.XTestGoFiles) > 0:
			all = append(all, p)
		}
	}
}

// compile makes the test binaries. The go command names them for the last element of the import path, so packages with
// the same one need calls of their own. As many compilers and linkers run as there are processors, each on one of them:
// by default each would use them all.
func (b *builder) compile(ctx context.Context, dir string, packages []*pkg) error {
	place, err := b.place(dir)
	if err != nil {
		return err
	}
	var errs []error
	for round := 0; len(packages) > 0; round++ {
		to := filepath.Join(place, fmt.Sprint(round))
		args := []string{"test", "-C", dir, "-p", fmt.Sprint(runtime.NumCPU()), "-c", "-trimpath", "-ldflags=-s -w",
			"-o", to + "/"}
		if b.isRace {
			args = append(args, "-race")
		}
		var later []*pkg
		isTaken := map[string]bool{}
		for _, p := range packages {
			name := path.Base(p.ImportPath)
			if isTaken[name] {
				later = append(later, p)
				continue
			}
			isTaken[name] = true
			p.binary = filepath.Join(to, name+".test")
			args = append(args, p.ImportPath)
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(b.env(ctx), "GOMAXPROCS=1"), b.stderr, b.stderr
		if err := cmd.Run(); err != nil {
			errs = append(errs, fmt.Errorf("compile the tests of %s: %w", dir, err))
		}
		packages = later
	}
	return errors.Join(errs...)
}

// program builds a program of Go's own, and returns its path.
func (b *builder) program(ctx context.Context, name string) (string, error) {
	place, err := b.place(".")
	if err != nil {
		return "", err
	}
	file := filepath.Join(place, path.Base(name))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, name)
	cmd.Stderr = b.stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return file, nil
}

// place is the folder of the test binaries of a module.
func (b *builder) place(dir string) (string, error) {
	module, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	place, err := testrun.BuildDir(module)
	if b.isRace {
		return filepath.Join(place, "tests-race"), err
	}
	return filepath.Join(place, "tests"), err
}
