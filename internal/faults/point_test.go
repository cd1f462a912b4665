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

// run runs the victim and returns how it ended and what it printed.
func run(t *testing.T, victim, faultAt string) (syscall.WaitStatus, string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(victim)
	cmd.Env = append(os.Environ(), "REDRAIN_FAULT_AT="+faultAt)
	cmd.Stdout, cmd.Stderr = &out, &out
	state := testenv.Start(t, cmd).Wait(10 * time.Second)
	return state.Sys().(syscall.WaitStatus), out.String()
}

func TestPointKillsWhereItIsTold(t *testing.T) {
	victim := buildVictim(t, "faults")
	for _, c := range []struct {
		at     string
		passed int // times that the victim came to the point
	}{
		{"here", 1},
		{"here:1", 1},
		{"here:3", 3},
		{"there:2", 2},
	} {
		status, out := run(t, victim, c.at)
		if !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: ended with %v, want SIGKILL; it printed\n%s", c.at, status, out)
		}
		if n := strings.Count(out, "before"); n != c.passed {
			t.Errorf("%s: died at passing %d, want %d", c.at, n, c.passed)
		}
	}
}

func TestPointLetsLive(t *testing.T) {
	victim := buildVictim(t, "faults")
	for _, at := range []string{"", "elsewhere", "here:4", "her"} {
		if status, out := run(t, victim, at); status.ExitStatus() != 0 || !strings.HasSuffix(out, "alive\n") {
			t.Errorf("%q: ended with %v, printed\n%s", at, status, out)
		}
	}
}

func TestPointRefusesANumberThatMakesNoSense(t *testing.T) {
	victim := buildVictim(t, "faults")
	for _, at := range []string{"here:0", "here:-1", "here:x", "here:"} {
		if status, out := run(t, victim, at); status.ExitStatus() != 2 || !strings.Contains(out, "REDRAIN_FAULT_AT") {
			t.Errorf("%q: ended with %v, printed\n%s", at, status, out)
		}
	}
}

func TestPointDoesNothingWithoutTheTag(t *testing.T) {
	if status, out := run(t, buildVictim(t, ""), "here"); status.ExitStatus() != 0 ||
		!strings.HasSuffix(out, "alive\n") {
		t.Errorf("ended with %v, printed\n%s", status, out)
	}
}
