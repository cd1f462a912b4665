package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// sbin is where distributions keep servers; it is not in the PATH of ordinary users.
var sbin = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"}

// find returns the path of a program.
func find(name string) (string, error) {
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

// require skips the test when a program is missing, or fails it where everything has to be there: in CI.
func require(t T, programs ...string) {
	t.Helper()
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

// Chromium returns the path of the browser.
func Chromium(t T) string {
	t.Helper()
	require(t, "chromium")
	path, err := find("chromium")
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return path
}
