package testenv

import "context"

// T is what this package needs of a test. Tests and benchmarks of package testing are one; so is whatever else starts
// servers, and runs what it was told with Cleanup at its end, last come first.
type T interface {
	Helper()
	Context() context.Context // of the test
	Cleanup(f func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // does not return
	Skipf(format string, args ...any)  // does not return
}
