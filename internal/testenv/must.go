package testenv

// Must ends the test if an operation that the test needs has failed.
func Must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Err is the error of a call whose value the test does not need.
func Err[V any](_ V, err error) error { return err }
