package testenv

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// binaries remembers what this test binary has built: tags → func() (path string, err error).
var binaries sync.Map

// Binary builds redrain with the given build tags, once per test binary, and returns the path of the program. It has
// the race detector when the test has it.
func Binary(t T, tags ...string) string {
	t.Helper()
	require(t, "go")
	key := strings.Join(slices.Sorted(slices.Values(tags)), ",")
	build, _ := binaries.LoadOrStore(key, sync.OnceValues(func() (string, error) { return buildBinary(key) }))
	path, err := build.(func() (string, error))()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return path
}

func buildBinary(tags string) (string, error) {
	dir, err := root.mkdir("bin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "redrain")
	module, err := ModuleDir()
	if err != nil {
		return "", err
	}
	args := []string{"build", "-C", module, "-tags", tags, "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "redrain")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build redrain: %w\n%s", err, out)
	}
	return path, nil
}
