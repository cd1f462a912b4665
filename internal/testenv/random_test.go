package testenv

import "testing"

func TestRandomCanBeHadAgain(t *testing.T) {
	t.Setenv(seedVariable, "7")
	one, two := Random(t), Random(t)
	for range 10 {
		if a, b := one.Uint64(), two.Uint64(); a != b {
			t.Fatalf("%d and %d from one seed", a, b)
		}
	}
	t.Setenv(seedVariable, "")
	if first, second := Random(t).Uint64(), Random(t).Uint64(); first == second {
		t.Error("two tests have the same numbers")
	}
}
