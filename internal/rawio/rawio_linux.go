package rawio

import (
	"syscall"
	"unsafe"
)

// Send sends as much of p as the socket takes at once. It returns syscall.EAGAIN if it takes nothing.
func Send(fd int, p []byte) (int, error) {
	return call(syscall.SYS_SENDTO, fd, p, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
}

// Receive receives at most len(p) waiting bytes; zero is the end. It returns syscall.EAGAIN if no bytes are waiting.
func Receive(fd int, p []byte) (int, error) {
	return call(syscall.SYS_RECVFROM, fd, p, syscall.MSG_DONTWAIT)
}

func call(number uintptr, fd int, p []byte, flags uintptr) (int, error) {
	//nolint:gosec // a system call gets its buffer by unsafe; p lives until the call has returned
	n, _, errno := syscall.RawSyscall6(number, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))),
		uintptr(len(p)), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
