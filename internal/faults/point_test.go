package faults_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// buildVictim builds the program that passes the points.
func buildVictim(t *testing.T, tags string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "victim")
	if out, err := exec.Command("go", "build", "-tags", tags, "-o", path,
		"./testdata/victim").CombinedOutput(); err != nil {
		t.Fatalf("build victim: %v\n%s", err, out)
	}
	return path
}

// run runs the victim and returns its exit status and its output.
func run(t *testing.T, victim, faultAt string) (syscall.WaitStatus, string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(victim)
	cmd.Env = append(os.Environ(), "REDRAIN_FAULT_AT="+faultAt)
	cmd.Stdout, cmd.Stderr = &out, &out
	state := testenv.Start(t, cmd).Wait(10 * time.Second)
	return state.Sys().(syscall.WaitStatus), out.String()
}

// A process dies at its point, and at that passing of it. A bad number ends it at once. Without the tag it lives.
func TestPoint(t *testing.T) {
	const lives, refuses = 0, 2
	for tags, cases := range map[string][]struct {
		at     string
		status int // of the exit; below 0: it was killed
		passed int // times that the victim came to the point
	}{
		"faults": {
			{"here", -1, 1}, {"here:1", -1, 1}, {"here:3", -1, 3}, {"there:2", -1, 2},
			{"", lives, 3}, {"elsewhere", lives, 3}, {"here:4", lives, 3}, {"her", lives, 3},
			{"here:0", refuses, 0}, {"here:-1", refuses, 0}, {"here:x", refuses, 0}, {"here:", refuses, 0},
		},
		"": {{"here", lives, 3}},
	} {
		victim := buildVictim(t, tags)
		for _, c := range cases {
			status, out := run(t, victim, c.at)
			if status.ExitStatus() != c.status || status.Signaled() && status.Signal() != syscall.SIGKILL {
				t.Errorf("%q: ended with %v; it printed\n%s", c.at, status, out)
			}
			alive, refused := strings.HasSuffix(out, "alive\n"), strings.Contains(out, "REDRAIN_FAULT_AT")
			n := strings.Count(out, "before")
			if n != c.passed || alive != (c.status == lives) || refused != (c.status == refuses) {
				t.Errorf("%q: came to the point %d times, want %d; it printed\n%s", c.at, n, c.passed, out)
			}
		}
	}
}
