//go:build !linux

package testenv

import (
	"os/exec"
)

// dieWithParent does nothing: only Linux ends a child with its parent. Here a killed test binary leaves its servers
// behind.
func dieWithParent(*exec.Cmd) {}

// isFrozen cannot look on this system, and believes.
func isFrozen(int) bool { return true }

// ramDisk is a folder in memory; "" because it is known for Linux only.
func ramDisk() string { return "" }

// SmallDisk skips the test: it is written for Linux only.
func SmallDisk(t T, _ string, _ int) {
	t.Helper()
	t.Skipf("testenv: a small disk needs Linux")
}
