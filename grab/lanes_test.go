package grab

import (
	"testing"
	"testing/synctest"

	"redrain/grab/outcome"
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

// With one shard for each lane no stock can come from elsewhere. Players on an empty shard get sold_out at once.
// Players of the other lane win on: each lane is sold out alone.
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
				t.Error("the notice of the guests' stock is ignored")
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

// A campaign without lanes has one lane for all players.
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

// A campaign has one gate, also if two goroutines ask for it at the same time.
func TestTwoMakersGetOneGate(t *testing.T) {
	b := newBench(t, &fakeScript{}, &fakeConfirmer{})
	if again := b.gates.make(b.gate.view.Load().campaign); again != b.gate {
		t.Error("a second gate")
	}
}

// A gate answers wins that it was notified of by itself, earlier ones too.
func TestAGateIsToldOfWins(t *testing.T) {
	b := newBench(t, &fakeScript{}, &fakeConfirmer{})
	b.gate.Remember("nobody", nil)
	testenv.Equal(t, b.gate.stripe("nobody").players["nobody"], nil, "who has won nothing is remembered as")
	for _, drop := range []string{"0.0", "0.1"} {
		b.gate.Remember("p", []rain.Win{{User: "p", Packet: 3, Amount: 5, Drop: drop}})
	}
	for drop, want := range map[string]outcome.Outcome{"0.0": outcome.Won, "0.1": outcome.Won, "0.2": outcome.Already} {
		testenv.Equal(t, b.tap("p", drop, ""), want.String(), "%s", drop)
	}
}

// A new version of the campaign forgets nothing, a new rain all but the wins.
func TestAGateForgetsWithTheRain(t *testing.T) {
	s := &fakeScript{}
	b := newBench(t, s, &fakeConfirmer{immediate: true})
	b.tap("p", "0.0", "p1")
	b.gates.work.wg.Wait()
	b.wantTold(t, "p1 sold_out")
	c := b.gate.view.Load().campaign.Clone()
	c.Revision++
	b.gate.Update(c)
	for _, user := range []string{"p", "q"} {
		testenv.Equal(t, b.tap(user, "0.0", ""), "sold_out", "%s in a new version", user)
	}
	none := c.Clone()
	none.Revision, none.Rains = none.Revision+1, nil
	b.gate.Update(none)
	if o := b.tap("p", "0.0", ""); o == "" || o == "sold_out" {
		t.Errorf("without a rain: %q", o)
	}
	c.Revision, s.stock = c.Revision+2, 1
	b.gate.Update(c)
	b.gate.Restored()
	testenv.Equal(t, b.tap("p", "0.0", "p2"), "", "in a new rain")
	b.gates.Close()
	b.wantTold(t, "p2 won")
}

// An unconfirmed winner may ask again, also when all others get sold_out. A batch without a win needs no confirmation.
func TestAWinnerWhoWasNotToldMayAskAgain(t *testing.T) {
	s, c := &fakeScript{stock: 1}, &fakeConfirmer{}
	b := newBench(t, s, c)
	b.tap("p", "0.0", "p1")
	b.gates.work.wg.Wait()
	b.wantTold(t, "p1 unavailable")
	testenv.Equal(t, b.tap("q", "0.0", ""), "sold_out", "another")
	testenv.Equal(t, b.tap("p", "0.0", "p2"), "", "sold out is no answer to one who has won")
	b.gates.Close()
	b.wantTold(t, "p2 sold_out") // says the fake, which does not know its winners
	testenv.Equal(t, c.asked, 1, "confirmations of one batch with a win")
}

func TestNothingStartsAfterTheEnd(t *testing.T) {
	w := newWorkers()
	w.close()
	if w.start(func() { t.Error("started") }) {
		t.Error("said to be started")
	}
	w.wg.Wait()
}
