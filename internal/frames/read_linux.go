package frames

import (
	"syscall"
	"unsafe"
)

// supported tells whether a socket that RawConn.Read gives can be read here.
const supported = true

// read reads a socket that does not block. It goes without the runtime's preparations for a call that may: they cost as much as
// the switch to the kernel and back, and on a machine with more to do than processors the runtime often takes the processor away
// from the goroutine meanwhile.
func read(fd int, p []byte) (int, error) {
	//nolint:gosec // unsafe is how a system call gets a buffer; p has room and lives until the call has returned
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
