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

// binaries caches the builds of this test binary, by tags: func() (path string, err error).
var binaries sync.Map

// Binary builds redrain with the given build tags and returns the path of the program. It has the race detector if the
// test has it and the run covers [Nightly]. Most nodes run within the tests, and the detector makes a process several
// times slower. Its other flags come from GOFLAGS, as in go test (see tools/test/build.go), so that both share the
// compiled packages. Later runs use the build again if it is up to date.
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

// buildBinary builds the program at a fixed path, so that the go command skips an up-to-date one. It returns a link to
// it that no other build touches. Flags in GOFLAGS apply to the tests too, so that both share the compiled packages.
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

// buildPlace returns the path of a program of this checkout, which is kept between runs, and its build flags.
func buildPlace(checkout, tags string) (path string, flags []string, err error) {
	name := "redrain-" + tags
	if Race && Covers(Nightly) {
		name, flags = name+"-race", []string{"-race"}
	}
	dir, err := testrun.BuildDir(checkout)
	return filepath.Join(dir, name), flags, err
}

// linkOrCopy links a file, or copies it to another file system.
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

// ModuleDir returns the folder of the server's go.mod. Programs are built there, with its versions, even for the module
// tools.
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
