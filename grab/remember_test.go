package grab

import (
	"testing"

	"redrain/grab/outcome"
	"redrain/rain"
)

// A campaign has one gate, also where two ask for it at the same time.
func TestTwoMakersGetOneGate(t *testing.T) {
	b := newBench(t, &fakeScript{}, &fakeConfirmer{})
	if again := b.gates.make(b.gate.view.Load().campaign); again != b.gate {
		t.Error("a second gate")
	}
}

// What a gate was told that a player has won, it answers by itself; also what it was told before.
func TestAGateIsToldOfWins(t *testing.T) {
	b := newBench(t, &fakeScript{}, &fakeConfirmer{})
	b.gate.Remember("nobody", nil)
	if p := b.gate.stripe("nobody").players["nobody"]; p != nil {
		t.Errorf("who has won nothing is remembered as %+v", p)
	}
	for _, drop := range []string{"0.0", "0.1"} {
		b.gate.Remember("p", []rain.Win{{User: "p", Packet: 3, Amount: 5, Drop: drop}})
	}
	for drop, want := range map[string]outcome.Outcome{"0.0": outcome.Won, "0.1": outcome.Won, "0.2": outcome.Already} {
		if o, known := b.tap("p", drop, ""); !known || o != want {
			t.Errorf("%s: %v, %t; want %v", drop, o, known, want)
		}
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
		if o, known := b.tap(user, "0.0", ""); !known || o != outcome.SoldOut {
			t.Errorf("%s in a new version: %v, %t", user, o, known)
		}
	}
	none := c.Clone()
	none.Revision, none.Rains = none.Revision+1, nil
	b.gate.Update(none)
	if o, known := b.tap("p", "0.0", ""); !known || o == outcome.SoldOut {
		t.Errorf("without a rain: %v, %t", o, known)
	}
	c.Revision, s.stock = c.Revision+2, 1
	b.gate.Update(c)
	b.gate.Restored()
	if o, known := b.tap("p", "0.0", "p2"); known {
		t.Errorf("in a new rain: %v is known", o)
	}
	b.gates.Close()
	b.wantTold(t, "p2 won")
}

// A winner who was not confirmed may ask again, also when all others hear that nothing is left. Where nobody has won
// there is nothing to confirm.
func TestAWinnerWhoWasNotToldMayAskAgain(t *testing.T) {
	s, c := &fakeScript{stock: 1}, &fakeConfirmer{}
	b := newBench(t, s, c)
	b.tap("p", "0.0", "p1")
	b.gates.work.wg.Wait()
	b.wantTold(t, "p1 unavailable")
	if o, known := b.tap("q", "0.0", ""); !known || o != outcome.SoldOut {
		t.Errorf("another: %v, %t", o, known)
	}
	if _, known := b.tap("p", "0.0", "p2"); known {
		t.Error("sold out is no answer to one who has won")
	}
	b.gates.Close()
	b.wantTold(t, "p2 sold_out") // says the fake, which does not know its winners
	if c.asked != 1 {
		t.Errorf("%d confirmations of one batch with a win", c.asked)
	}
}

func TestNothingStartsAfterTheEnd(t *testing.T) {
	w := newWorkers()
	w.close()
	if w.start(func() { t.Error("started") }) {
		t.Error("said to be started")
	}
	w.wg.Wait()
}
