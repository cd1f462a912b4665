package cli

import (
	"runtime/debug"
	"testing"
)

func TestTuneCollector(t *testing.T) {
	const before = 90
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	for _, test := range []struct {
		roles []string
		gogc  string
		want  int
	}{
		{[]string{"gateway", "operator"}, "", 50},
		{[]string{"gateway", "settle"}, "", 50},
		{[]string{"relay", "settle"}, "", 400},
		{[]string{"settle"}, "70", before},
		{[]string{"operator"}, "", before},
		{[]string{"gateway"}, "off", before},
	} {
		t.Setenv("GOGC", test.gogc)
		tuneCollector(test.roles)
		if got := debug.SetGCPercent(before); got != test.want {
			t.Errorf("roles %v, GOGC=%q: %d %%, want %d", test.roles, test.gogc, got, test.want)
		}
	}
}
