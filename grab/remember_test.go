package grab

import (
	"testing"

	"redrain/grab/outcome"
	"redrain/internal/testenv"
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

// A winner who was not confirmed may ask again, also when all others hear that nothing is left. Where nobody has won
// there is nothing to confirm.
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
