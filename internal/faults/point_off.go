//go:build !faults

package faults

// Point marks a moment at which a test may kill the process. It does nothing in this build.
func Point(string) {}
