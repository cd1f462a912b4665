package rawio

import (
	"syscall"
	"unsafe"
)

// Send sends as much of p as the socket takes at once. It fails with syscall.EAGAIN where that is nothing.
func Send(fd int, p []byte) (int, error) {
	return call(syscall.SYS_SENDTO, fd, p, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
}

// Receive receives what has come, at most len(p) bytes; zero is the end. It fails with syscall.EAGAIN where nothing
// has come.
func Receive(fd int, p []byte) (int, error) {
	return call(syscall.SYS_RECVFROM, fd, p, syscall.MSG_DONTWAIT)
}

func call(number uintptr, fd int, p []byte, flags uintptr) (int, error) {
	//nolint:gosec // unsafe is how a system call gets a buffer; p lives until the call has returned
	n, _, errno := syscall.RawSyscall6(number, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))),
		uintptr(len(p)), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
