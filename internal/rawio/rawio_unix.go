//go:build unix && !linux

package rawio

import "syscall"

// Send sends as much of p as the socket takes at once. It fails with syscall.EAGAIN where that is nothing.
func Send(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }

// Receive receives what has come, at most len(p) bytes; zero is the end. It fails with syscall.EAGAIN where nothing
// has come.
func Receive(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }
