package testenv

import (
	"errors"
	"strings"
)

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

// WantErr wants an operation to fail with an error; what says which one.
func WantErr(t interface {
	Helper()
	Errorf(format string, args ...any)
}, err, want error, what ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", strings.Join(what, " "), err, want)
	}
}
