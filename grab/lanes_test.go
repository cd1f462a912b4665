package grab

import (
	"testing"
	"testing/synctest"

	"redrain/internal/testenv"
	"redrain/rain"
)

// lanedBench is a node with a campaign with lanes: half of the shards are the guests'.
func lanedBench(t *testing.T, scripts ...*fakeScript) *bench {
	t.Helper()
	b := newShardedBench(t, &fakeConfirmer{immediate: true}, scripts...)
	c := b.gate.view.Load().campaign.Clone()
	c.ID, c.GuestsShare = "laned", 100_000
	b.gate = b.gates.Gate(c)
	return b
}

const aGuest = rain.GuestPrefix + "0123456789abcdef0123"

// With a shard for each lane nothing can come from elsewhere: who finds it empty is told that it is sold out, at once.
// Those of the other lane win on, and what is said of one lane is not said of the other.
func TestALaneIsSoldOutAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		players, guests := &fakeScript{}, &fakeScript{}
		players.restock(2)
		b := lanedBench(t, players, guests)
		b.tap(aGuest, "0.0", "g1")
		synctest.Wait()
		b.wantTold(t, "g1 sold_out")
		b.tap("p", "0.0", "p1")
		synctest.Wait()
		b.wantTold(t, "p1 won")
		if !b.gate.soldOut[rain.LaneGuests].Load() || b.gate.soldOut[rain.LanePlayers].Load() {
			t.Error("not the guests' lane alone is sold out")
		}
		testenv.Equal(t, b.tap(aGuest, "0.1", "g2"), "sold_out", "the next tap of a guest")
		b.gate.InStock(rain.LanePlayers)
		b.gate.Restocked(0)
		if !b.gate.soldOut[rain.LaneGuests].Load() {
			t.Error("stock of the players makes the guests' lane ask again")
		}
		for _, news := range []func(){
			func() { b.gate.InStock(rain.LaneGuests) }, func() { b.gate.Restocked(1) }, b.gate.Restored,
		} {
			b.gate.SoldOut(rain.LaneGuests)
			if news(); b.gate.soldOut[rain.LaneGuests].Load() {
				t.Error("stock of the guests is not heard of")
			}
		}
		for _, nonsense := range []rain.Lane{-1, 2, 1 << 40} { // of another node
			b.gate.SoldOut(nonsense)
			b.gate.InStock(nonsense)
		}
	})
}

// With several shards of a lane an unmet tap waits for stock of its own lane only.
func TestADryTapHearsOfItsOwnLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guests := []*fakeScript{{}, {}}
		b := lanedBench(t, &fakeScript{}, &fakeScript{}, guests[0], guests[1])
		b.tap(aGuest, "0.0", "g1")
		b.tap("p", "0.0", "p1")
		synctest.Wait()
		b.wantTold(t)
		b.gate.SoldOut(rain.LanePlayers)
		synctest.Wait()
		b.wantTold(t, "p1 sold_out")
		testenv.Equal(t, len(guests[0].sent)+len(guests[1].sent), 1, "the guest's tap was asked again for nothing")
		b.gate.SoldOut(rain.LaneGuests)
		synctest.Wait()
		b.wantTold(t, "g1 sold_out")
	})
}

// A campaign without lanes has one, whoever taps.
func TestWithoutLanesAllAreSoldOutTogether(t *testing.T) {
	b := newShardedBench(t, &fakeConfirmer{immediate: true}, &fakeScript{})
	b.gate.SoldOut(rain.LaneGuests)
	if b.gate.soldOut[rain.LaneGuests].Load() {
		t.Error("there is no such lane")
	}
	b.gate.SoldOut(rain.LanePlayers)
	for _, user := range []string{"p", aGuest} {
		testenv.Equal(t, b.tap(user, "0.0", user), "sold_out", "%s", user)
	}
}
