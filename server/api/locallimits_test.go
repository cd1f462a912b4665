package api

import (
	"strconv"
	"testing"
	"time"
)

// TestLocalLimits: so many a minute of each key, anew in the next, and no more keys than fit.
func TestLocalLimits(t *testing.T) {
	t.Parallel()
	var l localLimits
	for n := range 5 {
		ok, after := l.allow("a", 3, 45_000)
		if ok != (n < 3) || !ok && after != 15*time.Second {
			t.Errorf("%d: %v, %v", n, ok, after)
		}
	}
	if ok, _ := l.allow("a", 3, 60_000); !ok {
		t.Error("the next minute")
	}
	for n := range localKeys {
		l.allow(strconv.Itoa(n), 1, 61_000)
	}
	if ok, _ := l.allow("one more", 1, 61_000); ok || len(l.taken) != localKeys {
		t.Errorf("%v, %d keys", ok, len(l.taken))
	}
	if ok, _ := l.allow("a", 3, 61_000); !ok {
		t.Error("one that is known")
	}
}
