//go:build unix

package rawio

// Supported reports whether this system has Send and Receive.
const Supported = true
