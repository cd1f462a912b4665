//go:build unix

package sockets

import "syscall"

// Descriptors is how many files and connections the process may have open; 0: nobody knows.
func Descriptors() int {
	var is syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &is) != nil {
		return 0
	}
	return int(min(is.Cur, 1<<30))
}
