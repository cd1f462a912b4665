package reconcile

import "testing"

// TestFingerprint: another row is another finding, and a sum that grows is the same one.
func TestFingerprint(t *testing.T) {
	of := func(kind string, number int) string {
		var f findings
		f.add(kind, "u%d has too much", number)
		return f.fingerprint("")
	}
	for kind, isEqual := range map[string]bool{"a balance that is not its entries": false, "sums": true} {
		if is := of(kind, 17) == of(kind, 99); is != isEqual {
			t.Errorf("%s: equal %t, want %t", kind, is, isEqual)
		}
	}
}
