package confirm

import (
	"fmt"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// A master stands as its claim, its history, and the newest record say.
func TestHowAMasterStands(t *testing.T) {
	for _, c := range []struct {
		claim, history string
		number         int64
		holder         string
		want           standing
	}{
		{"3 R checked", "R", 3, "R", isOpen},
		{"3 R", "R", 3, "R", isSuspected},
		{"", "R", 0, "", isSuccessor},
		{"3 R checked", "S", 3, "R", isSuccessor}, // promoted, or restarted
		{"3 R", "S", 3, "R", isSuccessor},
		{"3 rebuild-x", "S", 3, "rebuild-x", isSuccessor},
		{"4 S", "S", 3, "R", hasBegun},
		{"4 S", "T", 3, "R", isSuccessor}, // promoted before the claim of its predecessor has come to the stream
		{"3 R checked", "R", 4, "S", isSuperseded},
		{"4 S", "S", 4, "R", isSuperseded}, // both had begun, and the other one was faster
		{"4 S", "S", 4, "rebuild-x", isSuperseded},
		{"", "R", 1, "S", isSuperseded},
		{"3 R checked", "R", 0, "", hasBegun}, // the record is gone
		{"3 R checked", "S", 0, "", isSuccessor},
		{"scribble", "R", 1, "S", isSuperseded},
	} {
		got := stand(parseClaim(c.claim), c.history, rain.Epoch{Number: c.number, Holder: c.holder})
		testenv.Equal(t, got, c.want, "claim %q of %s, record %d %s", c.claim, c.history, c.number, c.holder)
	}
}

// A claim is read as it was written.
func TestAClaimIsParsed(t *testing.T) {
	for _, c := range []claim{{1, "R", false}, {12, "rebuild-x", true}} {
		testenv.Equal(t, parseClaim(c.String()), c, "claim")
	}
	testenv.Equal(t, fmt.Sprint(parseClaim("")), fmt.Sprint(claim{}), "no claim")
}
