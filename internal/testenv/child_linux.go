package testenv

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process when the launching thread ends.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
