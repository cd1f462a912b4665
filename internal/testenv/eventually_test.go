package testenv

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a testing.TB that notes a failure instead of failing.
type recorder struct {
	testing.TB

	failure string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestEventuallyWaitsForTheCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Eventually(t, time.Minute, "ten seconds pass", func() bool { return time.Since(start) >= 10*time.Second })
		if waited := time.Since(start); waited > 11*time.Second {
			t.Errorf("went on after %v, want about 10s", waited)
		}
	})
}

func TestEventuallyFailsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, r := time.Now(), &recorder{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Eventually(r, 3*time.Second, "the sun rises", func() bool { return false })
		}()
		<-ended
		if want := "not within 18s: the sun rises"; r.failure != want {
			t.Errorf("failure %q, want %q", r.failure, want)
		}
		if waited := time.Since(start); waited != slowest*3*time.Second {
			t.Errorf("gave up after %v, want 3s", waited)
		}
	})
}
