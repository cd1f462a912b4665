package posting

import "testing"

// A text that does not fit its column is kept as its hash.
func TestFit(t *testing.T) {
	t.Parallel()
	if fit("short", 10) != "short" || len(fit("long, and more", 10)) != 71 || len(fit("\xff", 10)) != 71 {
		t.Error(fit("short", 10), fit("long, and more", 10), fit("\xff", 10))
	}
}
