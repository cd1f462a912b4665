package testenv

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// noted is a test that notes how it fails.
type noted struct{ strings.Builder }

func (*noted) Helper()                             {}
func (n *noted) Errorf(format string, args ...any) { _, _ = fmt.Fprintf(n, format, args...) }

// TestWhatIsWanted: each check fails for a wrong value, and for no other one.
func TestWhatIsWanted(t *testing.T) {
	bad := errors.New("bad")
	for want, check := range map[string]func(n *noted){
		"": func(n *noted) {
			Equal(n, 1, 1, "")
			Equal(n, []int{}, nil, "")
			Equal(n, nil, map[string]int{}, "")
			Equal(n, &noted{}, &noted{}, "")
			WantErr(n, nil, nil)
			WantErr(n, fmt.Errorf("worse: %w", bad), bad)
			WantFail(n, bad)
			Got(1, nil).Want(n, 1, "")
		},
		"item 3: 1, want 2":           func(n *noted) { Equal(n, 1, 2, "item %d", 3) },
		"list: [1], want []":          func(n *noted) { Equal(n, []int{1}, nil, "list") },
		"list: [1 2], want [2 1]":     func(n *noted) { Equal(n, []int{1, 2}, []int{2, 1}, "list") },
		"a call: <nil>, want bad":     func(n *noted) { WantErr(n, nil, bad, "a", "call") },
		"a call: bad, want <nil>":     func(n *noted) { WantErr(n, bad, nil, "a", "call") },
		"a call: no error":            func(n *noted) { WantFail(n, nil, "a", "call") },
		"the 1. answer: 2, want 3":    func(n *noted) { Got(2, nil).Want(n, 3, "the %d. answer", 1) },
		"the answer: bad, want <nil>": func(n *noted) { Got(3, bad).Want(n, 3, "the answer") },
	} {
		n := &noted{}
		if check(n); n.String() != want {
			t.Errorf("noted %q, want %q", n, want)
		}
	}
}
