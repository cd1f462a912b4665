//go:build !linux

package testenv

// ramDisk is a folder in memory; "" because it is known for Linux only.
func ramDisk() string { return "" }
