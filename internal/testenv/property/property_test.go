package property

import (
	"flag"
	"fmt"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.nofailfile", "true"); err != nil { // some fail on purpose
		panic(err)
	}
	m.Run()
}

func TestOnlyTheFirstChecksAreMade(t *testing.T) {
	t.Parallel()
	made := 0
	rapid.Check(t, first(7, func(*rapid.T) { made++ }))
	if made != 7 {
		t.Errorf("%d checks, want 7", made)
	}
}

// failed is a test that fails without failing this one.
type failed struct {
	testing.TB

	says string
}

// Errorf implements rapid.TB.
func (f *failed) Errorf(format string, args ...any) { f.says += fmt.Sprintf(format, args...) }

// FailNow implements rapid.TB.
func (f *failed) FailNow() { runtime.Goexit() }

// Failed implements rapid.TB.
func (f *failed) Failed() bool { return f.says != "" }
