package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// sbin lists the distributions' folders of servers, which are not in the PATH of ordinary users.
var sbin = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"}

// find returns the path of a program, or of a library with its complete path.
func find(name string) (string, error) {
	if filepath.IsAbs(name) {
		_, err := os.Stat(name)
		return name, err
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	for _, dir := range sbin {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", err
}

// programCommand returns a command of a program that may be in sbin.
func programCommand(name string, args ...string) (*exec.Cmd, error) {
	path, err := find(name)
	if err != nil {
		return nil, err
	}
	return exec.Command(path, args...), nil
}

var warned sync.Map // program → struct{}: the warning is printed once for each

// leftOut counts the tests that -short has left out.
var leftOut atomic.Int64

// sayWhatIsLeftOut prints a line about them, if there are any.
func sayWhatIsLeftOut() {
	if n := leftOut.Load(); n > 0 {
		_, _ = fmt.Fprintf(os.Stdout,
			"testenv: -short: %d tests that need real servers, processes or a browser are SKIPPED\n", n)
	}
}

// require skips the test with -short, or if a program is missing. In CI it fails the test for a missing one.
func require(t T, programs ...string) {
	t.Helper()
	if testing.Testing() && testing.Short() {
		leftOut.Add(1)
		t.Skipf("testenv: -short leaves out what needs %s", strings.Join(programs, ", "))
	}
	for _, name := range programs {
		if _, err := find(name); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("testenv: %s is not installed, and with CI=true no test may be skipped for that", name)
		}
		if _, again := warned.LoadOrStore(name, struct{}{}); !again {
			fmt.Fprintf(os.Stderr, "testenv: WARNING: %s is not installed: tests that need it are SKIPPED\n", name)
		}
		t.Skipf("testenv: %s is not installed", name)
	}
}

// Chromium returns the path of the browser. Debian's shell without a window uses a fifth less of the processor than the
// whole browser does.
func Chromium(t T) string {
	t.Helper()
	name := "chromium-headless-shell"
	if _, err := find(name); err != nil {
		name = "chromium"
	}
	return Program(t, name)
}

// Program returns the path of a program that the test runs.
func Program(t T, name string) string {
	t.Helper()
	require(t, name)
	path, err := find(name)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return path
}
