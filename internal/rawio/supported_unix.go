//go:build unix

package rawio

// Supported tells whether this system has Send and Receive.
const Supported = true
