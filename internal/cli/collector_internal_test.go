package cli

import (
	"runtime/debug"
	"testing"
)

func TestCollectEarly(t *testing.T) {
	const before = 90
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	for _, test := range []struct {
		roles []string
		gogc  string
		want  int
	}{
		{[]string{"gateway", "operator"}, "", 50},
		{[]string{"relay", "settle"}, "", before},
		{[]string{"gateway"}, "off", before},
	} {
		t.Setenv("GOGC", test.gogc)
		collectEarly(test.roles)
		if got := debug.SetGCPercent(before); got != test.want {
			t.Errorf("roles %v, GOGC=%q: %d %%, want %d", test.roles, test.gogc, got, test.want)
		}
	}
}
