//go:build unix && !linux

package frames

import "syscall"

const supported = true

// read reads a socket that does not block. Other systems than Linux want system calls to go through their library.
func read(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }
