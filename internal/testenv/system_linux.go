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

// isFrozen reports whether every thread of a process has stopped: the third field of its stat is T (proc(5)).
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

// ramDisk returns a folder in memory, "" if there is none or not enough room in it.
func ramDisk() string {
	const dir, enough = "/dev/shm", 8 << 30
	var disk syscall.Statfs_t
	var memory syscall.Sysinfo_t
	if syscall.Statfs(dir, &disk) != nil || syscall.Sysinfo(&memory) != nil {
		return ""
	}
	const tmpfs = 0x01021994 // statfs(2)
	room := disk.Bavail * uint64(disk.Bsize)
	free := (memory.Freeram + memory.Bufferram) * uint64(memory.Unit)
	if disk.Type != tmpfs || room < enough || free < enough {
		return ""
	}
	return dir
}

// SmallDisk mounts a disk of some megabytes, in memory, on an existing folder until the test ends. It skips the test if
// the machine does not allow that. FillDisk fills it.
func SmallDisk(t T, dir string, megabytes int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", megabytes)); err != nil {
		t.Skipf("testenv: mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil { // its user may still have files open
			t.Errorf("testenv: unmount %s: %v", dir, err)
		}
	})
}
