package testenv

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	SideBySide()
	Main(m)
}

// Some promises are about the whole test binary: its reaction to a kill, to a leak, and to a missing program. Their
// tests run this test binary again, with one of the roles below, which are no tests of their own.
const roleVariable = "REDRAIN_TESTENV_ROLE"

func TestRole(t *testing.T) {
	switch os.Getenv(roleVariable) {
	case "":
		t.Skip("a part of other tests")
	case "leak":
		go func() { select {} }()
	case "missing":
		require(t, "no-such-server")
	case "serve":
		fmt.Println("serving", StartRedis(t).Addr, memory.path)
		select {}
	}
}

// again returns a command that runs this test binary in a role.
func again(role string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestRole$", "-test.v")
	cmd.Env = append(os.Environ(), append(env, roleVariable+"="+role)...)
	return cmd
}

// output runs cmd to its end.
func output(t *testing.T, cmd *exec.Cmd) (code int, text string) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	code = Start(t, cmd).Wait(time.Minute).ExitCode()
	return code, out.String()
}

func TestMainFailsOnALeak(t *testing.T) {
	code, out := output(t, again("leak"))
	if code != 1 || !strings.Contains(out, "goroutines are left") || !strings.Contains(out, "TestRole") {
		t.Errorf("exit code %d, want 1 and the leak named; output:\n%s", code, out)
	}
}

func TestMissingProgramSkipsButFailsInCI(t *testing.T) {
	code, out := output(t, again("missing", "CI="))
	if code != 0 || !strings.Contains(out, "--- SKIP: TestRole") ||
		!strings.Contains(out, "WARNING: no-such-server is not installed") {
		t.Errorf("exit code %d, want a loud skip; output:\n%s", code, out)
	}
	code, out = output(t, again("missing", "CI=true"))
	if code != 1 || !strings.Contains(out, "--- FAIL: TestRole") {
		t.Errorf("in CI: exit code %d, want a failure; output:\n%s", code, out)
	}
}

func TestNothingOutlivesAKilledTestBinary(t *testing.T) {
	require(t, redisServer.needs...)
	var child exec.Cmd
	if dieWithParent(&child); child.SysProcAttr == nil {
		t.Skip("only Linux ends a child with its parent")
	}
	cmd := again("serve")
	out, in, err := os.Pipe()
	Must(t, err)
	defer func() { _ = out.Close() }()
	cmd.Stdout = in
	other := Start(t, cmd)
	_ = in.Close()

	addr, dir := serving(t, out)
	if conn, err := net.Dial("tcp", addr); err != nil {
		t.Fatalf("the server of the other test binary: %v", err)
	} else {
		_ = conn.Close()
	}
	memory.sweep()
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("a directory in use was swept: %v", err)
	}

	other.Kill()
	Eventually(t, 10*time.Second, "its server is gone", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	memory.sweep()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory of a killed test binary is still there: %v", err)
	}
}

// serving reads the line that the role "serve" prints.
func serving(t *testing.T, out *os.File) (addr, dir string) {
	t.Helper()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "serving %s %s", &addr, &dir); n == 2 {
			return addr, filepath.Clean(dir)
		}
	}
	t.Fatal("the other test binary did not say where it serves")
	return "", ""
}
