package store_test

import (
	"fmt"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/rain"
)

// one is the stock by lane of a campaign that has one.
func one(stock int) [rain.LaneCount]int { return [rain.LaneCount]int{rain.LanePlayers: stock} }

// TestLanesInRedis: guests win the guests' packets and players theirs, on a shard each; the one is sold out while the
// other has stock, and figures tell both apart. A lost shard counts as left in its own lane.
func TestLanesInRedis(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10, Shards: 2, GuestsShare: 300_000})
		playBothLanes(t, gm)
	})
}

func playBothLanes(t *testing.T, gm *grabtest.Game) {
	t.Helper()
	layout := gm.C.Layout()
	for i := range 6 {
		guest, want := fmt.Sprintf("%s%020x", rain.GuestPrefix, i), outcome.Won
		if i >= 3 {
			want = outcome.SoldOut
		}
		if r := gm.Want(guest, gm.Drop(0), want); want == outcome.Won && !layout.MayHave(guest, r.Packet) {
			t.Errorf("%s has won packet %d", guest, r.Packet)
		}
	}
	if got := gm.Levels(); got.Stock != 7 || got.ByLane != one(7) {
		t.Errorf("the guests have won all of theirs: %+v", got)
	}
	if r := gm.Want("p", gm.Drop(0), outcome.Won); !layout.MayHave("p", r.Packet) {
		t.Errorf("a player has won packet %d", r.Packet)
	}
	gm.Balance()
	gm.LoseShard(layout.Home("p"))
	if got := gm.Levels(); got.ByLane != one(7) || got.Unknown != 1 {
		t.Errorf("the players' shard is lost: %+v", got)
	}
}
