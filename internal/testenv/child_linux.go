package testenv

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// dieWithParent has the kernel kill the process when the launching thread ends.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// isFrozen tells whether every thread of a process has stopped: the third field of its stat is T (proc(5)).
func isFrozen(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		// The second field is the program's name in brackets, which may hold anything.
		if _, rest, ok := bytes.Cut(stat, []byte(") ")); err != nil || !ok || !bytes.HasPrefix(rest, []byte("T")) {
			return false
		}
	}
	return true
}
