package playerlist_test

import (
	"fmt"
	"testing"

	"redrain/payout/ledger/playerlist"
)

// TestDigestOfMembers: the same rows have one digest in whatever order they came and went, and no others have it.
func TestDigestOfMembers(t *testing.T) {
	row := func(n int) playerlist.Row {
		return playerlist.Row{Who: fmt.Sprint("player ", n), Added: int64(n), Removed: int64(n % 3), Mark: int64(n % 7)}
	}
	var up, down playerlist.Digest
	for n := range 100 {
		up.Add(row(n))
		down.Add(row(99 - n))
	}
	if up != down || up == (playerlist.Digest{}) {
		t.Error("the order counts, or nothing does")
	}
	if back := playerlist.ParseDigest(up.String()); back != up {
		t.Error("stored and read again it is another")
	}
	for _, other := range []playerlist.Row{{"player 8", 7, 1, 0}, {"player 7", 8, 1, 0}, {"player 7", 7, 2, 0},
		{"player 7", 7, 1, 1}, {"0,player 7", 7, 1, 0}} {
		is := up
		is.Take(row(7))
		is.Add(other)
		if is == up {
			t.Errorf("%+v counts as %+v", other, row(7))
		}
	}
	for n := range 100 {
		up.Take(row(n))
	}
	if up != (playerlist.Digest{}) {
		t.Error("without its rows it is not that of none")
	}
	for _, none := range []string{"", "zz", "00"} {
		if playerlist.ParseDigest(none) != (playerlist.Digest{}) {
			t.Errorf("%q is a digest", none)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	var d playerlist.Digest
	for n := range b.N {
		d.Add(playerlist.Row{Who: "player-0012345", Added: int64(n)})
	}
}
