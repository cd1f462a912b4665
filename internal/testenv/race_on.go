//go:build race

package testenv

// Race tells whether the race detector watches.
const Race = true
