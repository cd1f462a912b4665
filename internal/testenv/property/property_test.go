package property

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// A check that has failed is made again as often as it takes to find the shortest one, however it has failed.
func TestWhatFailsIsShortened(t *testing.T) {
	t.Parallel()
	const shortest = 10
	for name, fail := range map[string]func(*rapid.T){
		"fatal": func(rt *rapid.T) { rt.Fatal("broken") },
		"error": func(rt *rapid.T) { rt.Error("broken") },
		"panic": func(*rapid.T) { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, last := 0, 0
			numbers := rapid.SliceOfN(rapid.IntRange(0, 1<<40), 50, 50) // of which one is large in any check
			says := failing(t, first(3, func(rt *rapid.T) {
				made++
				if last = slices.Max(numbers.Draw(rt, "numbers")); made >= 3 && last >= shortest {
					fail(rt)
				}
			}))
			if last != shortest || strings.Contains(says, "flaky") || !strings.Contains(says, "broken") {
				t.Errorf("shortened to %d, want %d: %s", last, shortest, says)
			}
		})
	}
}

// failing is what rapid says of a property that does not hold.
func failing(t *testing.T, prop func(*rapid.T)) string {
	t.Helper()
	f := &failed{TB: t}
	var check sync.WaitGroup
	check.Go(func() { rapid.Check(f, prop) })
	check.Wait()
	return f.says
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
