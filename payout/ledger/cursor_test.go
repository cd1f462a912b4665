package ledger

import "testing"

func TestCursors(t *testing.T) {
	t.Parallel()
	for _, cursor := range []string{"", "-", "1-", "x-1", "1"} {
		if _, _, ok := cutCursor(cursor); ok {
			t.Errorf("%q is a cursor", cursor)
		}
	}
	if at, id, ok := cutCursor(joinCursor(-5, "a-b")); ok && (at != -5 || id != "a-b") {
		t.Error(at, id)
	}
}
