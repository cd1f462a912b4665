//go:build !unix

package sockets

// Descriptors returns the limit of open files and connections of the process; 0 if it is unknown.
func Descriptors() int { return 0 }
