//go:build unix && !linux

package rawio

import "syscall"

// Send sends as much of p as the socket takes at once. It returns syscall.EAGAIN if it takes nothing.
func Send(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }

// Receive receives at most len(p) waiting bytes; zero is the end. It returns syscall.EAGAIN if no bytes are waiting.
func Receive(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }
