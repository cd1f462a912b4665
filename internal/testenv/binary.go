package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"redrain/internal/testenv/testrun"
)

// binaries remembers what this test binary has built: tags → func() (path string, err error).
var binaries sync.Map

// Binary builds redrain with the given build tags and returns the path of the program. It has the race detector if the
// test has it and the run covers [Nightly]: most nodes run within the tests, and the detector makes a process several
// times slower. Its other flags come from GOFLAGS, as those of go test do (see tools/test/build.go), so that both
// share the compiled packages. What a run of any test has built is used again by the next, as far as it is up to date.
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

// buildBinary builds the program at a place of its own, so that the go command finds out what is left to be done (a
// program that is up to date is not linked again), and returns a link to it that no other build touches. Flags in
// GOFLAGS, as those of tools/test, are those of the tests, so that both share the compiled packages.
func buildBinary(tags string) (string, error) {
	module, err := ModuleDir()
	if err != nil {
		return "", err
	}
	kept, flags, err := buildPlace(module, tags)
	if err != nil {
		return "", err
	}
	dir, err := root.mkdir("bin")
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(kept+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", kept, err)
	}
	args := append([]string{"build", "-C", module, "-trimpath", "-tags", tags, "-o", kept}, flags...)
	if out, err := exec.Command("go", append(args, "redrain")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build redrain: %w\n%s", err, out)
	}
	path := filepath.Join(dir, "redrain")
	return path, linkOrCopy(kept, path)
}

// buildPlace is where a program of this checkout is kept between runs, and the flags that it is built with.
func buildPlace(checkout, tags string) (path string, flags []string, err error) {
	name := "redrain-" + tags
	if Race && Covers(Nightly) {
		name, flags = name+"-race", []string{"-race"}
	}
	dir, err := testrun.BuildDir(checkout)
	return filepath.Join(dir, name), flags, err
}

// linkOrCopy gives a file a second name, or copies it where that does not work: on another file system.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}

// ModuleDir returns the folder of the server's go.mod. Programs are built there, so that they are made of the
// versions that it names, also when the module tools has them built.
var ModuleDir = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "redrain")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list -m redrain: %w\n%s", err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
})
