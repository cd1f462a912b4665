package cli

import "testing"

func TestRestoredSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	for faults, c := range map[int]restoredCmd{
		0: {MySQL: "u@/db", By: "ann", Reason: "x"},
		1: {MySQL: "u@/db", DataDir: "d", By: "ann", Reason: "x"},
		2: {DataDir: "d", Paid: "f", End: true},
		3: {},
	} {
		if got := c.check(); len(got) != faults {
			t.Errorf("%+v: %q, want %d faults", c, got, faults)
		}
	}
}
