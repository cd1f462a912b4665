//go:build unix

package sockets

import "syscall"

// Descriptors returns the limit of open files and connections of the process; 0 if it is unknown.
func Descriptors() int {
	var is syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &is) != nil {
		return 0
	}
	return int(min(is.Cur, 1<<30))
}
