package property

import (
	"testing"

	"pgregory.net/rapid"
)

func TestOnlyTheFirstChecksAreMade(t *testing.T) {
	t.Parallel()
	made := 0
	rapid.Check(t, first(7, func(*rapid.T) { made++ }))
	if made != 7 {
		t.Errorf("%d checks, want 7", made)
	}
}
