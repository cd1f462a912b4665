package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"redrain/internal/testenv"
)

// TestPlayStates: what the server tells changes the page at once, and each state says what comes next.
func TestPlayStates(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	p := play(t, f)
	start := f.setRain(-2*time.Second, time.Hour)
	f.wave(0, start, [3]int{300, 0, 20000})
	p.mode("falling")
	const bar = `document.querySelector(".track").classList.contains("on")`
	p.Until("a bar of what is left of the rain", bar)
	f.push(object{"type": "room", "t": f.now(), "online": 3, "stock": 0, "won": 5,
		"winners": []object{{"user": "g*1a2b", "amount": 88}}})
	p.shows("note", "All packets are gone. Enjoy the show")
	f.push(object{"type": "room", "t": f.now(), "online": 3, "stock": 4, "stock_guests": 4, "won": 5,
		"winners": []object{}})
	p.shows("note", "The packets you could win are gone")
	p.shows("ticker-text", "Guest 1a2b won ¥0.88")
	f.push(object{"type": "room", "t": f.now(), "online": 3, "stock": 0, "won": 5,
		"winners": []object{{"user": "g*1a2b", "amount": 88, "name": hostileName}}})
	p.shows("ticker-text", "\u2068"+hostileName[:13]+"…\u2069 won ¥0.88")
	f.phase("paused")
	p.mode("paused")
	p.Until("no bar of a rain that stands still", "!"+bar)
	p.State("paused")
	// A pause may be long: the packets can be looked at until it goes on.
	p.Press("#mine")
	f.push(object{"type": "room", "t": f.now(), "online": 7, "stock": 0, "won": 5, "winners": []object{}})
	p.shows("online", "7")
	if !p.isOpen("sheet") {
		t.Error("in a pause the sheet closes at once")
	}
	f.phase("falling")
	p.mode("falling")
	p.Until("the history as it was", `history.state === null`)
	if p.isOpen("sheet") {
		t.Error("the sheet stands before the rain that goes on")
	}
	// Stopped: the card says why it was so short, and stays when the next rain is announced, with its countdown.
	p.ends()
	p.shows("card-title", "The rain is over")
	p.shows("card-sub", "Thanks for joining. See you next time") // no packets are left: no advice to tap
	p.shows("card-stopped", "The host ended this rain early")
	f.rainID = "r2"
	f.setRain(119*time.Second, 10*time.Second)
	testenv.Eventually(t, patience, "the next rain on the card",
		func() bool { return strings.HasPrefix(p.text("card-next"), "Next rain in 1 min") })
	p.State("next")
	p.Type(kb.Escape)
	p.mode("countdown")
	f.push(object{"type": "campaign", "campaign": object{"id": "c1", "name": "年会红包雨", "state": "closed",
		"wins_per_user": 3, "taps_per_user": 0}})
	p.mode("over")
	p.shows("stage-title", "This event is over")
	p.Until("nobody is said to have won just now", `document.getElementById("ticker").hidden`)
	p.State("closed")
}
