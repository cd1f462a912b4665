package web_test

import (
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestBackButton: the phone's back button closes what stands before the game, whatever it is, and the game goes on; it
// leaves nothing behind that the next press would have to undo. The code on the poster leads to the event, and names
// nobody.
func TestBackButton(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return f.won(1, 88) }
	p := play(t, f)
	eval[bool](p, `(window.stayed = true)`)
	back := func(dialog string) {
		t.Helper()
		p.opens(dialog)
		eval[bool](p, `(history.back(), true)`)
		p.Until("back closes "+dialog, `!document.getElementById(%q).open`, dialog)
		p.Until("the history is as it was", `history.state === null`)
		if !eval[bool](p, `window.stayed === true`) {
			t.Errorf("back has left the page that had %s open", dialog)
		}
	}

	p.Press("#mine")
	back("sheet")
	start := p.rains([3]int{300, 0, slowly})
	p.hitDrop(0, start, 300)
	p.shows("mine-count", "1")
	p.ends()
	p.shows("card-amount", "¥0.88")
	p.Until("a poster is offered", `document.getElementById("card-poster").checkVisibility()`)
	p.Press("#card-poster")
	p.Until("the poster", `document.getElementById("poster-picture").naturalWidth === 750`)
	p.Settle()
	testenv.Eventually(t, patience, "a phone reads the event's address",
		func() bool { return p.read() == f.URL+"/?campaign=c1" })
	back("poster") // to which the card has given way

	f.rainID = "r2"
	f.setRain(-slowly/3*time.Millisecond, time.Hour)
	p.mode("falling")
	f.phase("ended")
	back("card")

	f.code("K1", "u1")
	eval[bool](p, `(location.hash = "#code=K1", true)`)
	back("who")
	p.shows("user", "Playing as Guest 7f3a")
}
