package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// The race detector watches all but SQLite, which is translated C, and the Lua of the stand-in for Redis: what comes
// to them passes through database/sql and one lock, and watched they take five times as long, which was a third of
// the time of all tests. The flags are in the environment, so that the programs that tests build have them too and
// share the compiled packages.
const unwatched = "-gcflags=modernc.org/...=-race=false -gcflags=github.com/yuin/gopher-lua/...=-race=false " +
	"-gcflags=github.com/pingcap/...=-race=false"

// long are the packages whose tests take longest. They begin first, so that none runs alone at the end.
var long = []string{"internal/e2e", "web", "grab/store", "internal/cli", "payout/ledger", "server/campaigns"}

// runner runs go test for both modules, redrain and its tools. It is itself run in the folder of the tools.
type runner struct {
	report   *report
	packages []string // patterns from the root of the repository; none: all of both modules
	flags    []string
	race     bool
}

// run reports whether all tests have passed.
func (r *runner) run(ctx context.Context) bool {
	if len(r.packages) > 0 {
		return r.module(ctx, "..", r.packages...)
	}
	var first []string
	for _, dir := range long {
		if found, _ := filepath.Glob(filepath.Join("..", dir, "*_test.go")); len(found) > 0 {
			first = append(first, "./"+dir)
		}
	}
	server := r.module(ctx, "..", append(first, "./...")...)
	return r.module(ctx, ".", "./...") && server
}

// module runs the tests of packages of the module in dir.
func (r *runner) module(ctx context.Context, dir string, packages ...string) bool {
	args := []string{"test", "-C", dir, "-json", "-timeout", "60m", "-p", strconv.Itoa(sideBySide())}
	args = append(args, r.flags...)
	if r.race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	if r.race {
		given, _ := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
		flags := "GOFLAGS=" + strings.TrimSpace(strings.TrimSpace(string(given))+" "+unwatched)
		cmd.Env = append(os.Environ(), flags)
		_, _ = fmt.Fprint(os.Stderr, "==> ", flags, " \\\n    ")
	} else {
		_, _ = fmt.Fprint(os.Stderr, "==> ")
	}
	_, _ = fmt.Fprintln(os.Stderr, strings.Join(cmd.Args, " "))
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "test:", err)
		return false
	}
	err = r.read(events)
	return errors.Join(err, cmd.Wait()) == nil
}

// sideBySide is how many packages are tested at the same time. Those whose tests mostly wait run many of them at once,
// so more packages would only crowd each other out.
func sideBySide() int { return runtime.NumCPU() }

// read hands the events of go test to the report, however long their lines. A line that is none is shown as it is.
func (r *runner) read(events io.Reader) error {
	for lines := bufio.NewReader(events); ; {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0 && errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case json.Unmarshal(line, &e) != nil:
			_, _ = os.Stderr.Write(line)
		default:
			r.report.add(e)
		}
	}
}
