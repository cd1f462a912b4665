package web_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	chromium "redrain/internal/browser"
	"redrain/internal/testenv"
)

// testStates: what the server tells changes the page at once, and each state says what comes next.
func (b *browser) testStates(t *testing.T) {
	f := newFake(t)
	p := b.enter(t, f, "/?campaign=c1")
	p.mode("waiting")
	start := f.setRain(-2*time.Second, 60*time.Second)
	f.wave(0, start, [3]int{300, 0, 20000})
	p.mode("falling")
	f.push(object{"type": "room", "t": f.now(), "online": 3, "stock": 0, "won": 5, "winners": []object{{"user": "g*1a2b", "amount": 88}}})
	p.shows("note", "Every packet is gone. Enjoy the show")
	p.shows("ticker-text", "Guest 1a2b won ¥0.88")
	f.phase("paused")
	p.mode("paused")
	p.State("paused")
	// A pause may be long: the packets can be looked at until it goes on.
	p.click("#mine")
	f.push(object{"type": "room", "t": f.now(), "online": 7, "stock": 0, "won": 5, "winners": []object{}})
	p.shows("online", "7")
	if !p.isOpen("sheet")() {
		t.Error("in a pause the sheet closes at once")
	}
	f.phase("falling")
	p.mode("falling")
	if p.isOpen("sheet")() {
		t.Error("the sheet stands before the rain that goes on")
	}
	// Stopped: the card says why it was so short, and stays when the next rain is announced, with its countdown.
	f.phase("ended")
	testenv.Eventually(t, patience, "the card", p.isOpen("card"))
	p.shows("card-title", "The rain is over")
	p.shows("card-stopped", "The host has ended this rain early")
	f.rainID = "r2"
	f.setRain(90*time.Second, 10*time.Second)
	testenv.Eventually(t, patience, "the next rain on the card", func() bool { return strings.HasPrefix(p.text("card-next"), "Next rain in 1:") })
	p.State("next")
	p.Type(kb.Escape)
	p.mode("countdown")
	f.push(object{"type": "campaign", "campaign": object{"id": "c1", "name": "年会红包雨", "state": "closed", "wins_per_user": 3, "taps_per_user": 0}})
	p.mode("over")
	p.shows("stage-title", "This event is over")
	p.State("closed")
}

// testTenRains: what is made for a rain goes with it.
func (b *browser) testTenRains(t *testing.T) {
	f := newFake(t)
	k := 0
	f.judge = func(string) object { k++; return f.won(k, 10) }
	p := b.enter(t, f, "/?campaign=c1&debug")
	p.mode("waiting")
	var third chromium.Holdings
	for i := range 10 {
		f.rainID = fmt.Sprintf("r%d", i)
		start := f.setRain(-time.Second, time.Second) // it ends three seconds from now, when its drops have landed
		for w := range 4 {
			f.wave(10*i+w, start+int64(w)*100, [3]int{200 * w, 0, 3900}, [3]int{100 + 200*w, 1, 3900})
		}
		testenv.Eventually(t, patience, "packets in the air", func() bool {
			return eval[bool](p, `document.body.dataset.mode === "falling" && redrain.drops(redrain.serverNow()).some((d) => !d.decoy && d.y > 0)`)
		})
		p.Type(" ")
		testenv.Eventually(t, patience, "a win", func() bool { return p.text("mine-count") == strconv.Itoa(i+1) })
		f.phase("ended")
		testenv.Eventually(t, patience, "the card", p.isOpen("card"))
		testenv.Eventually(t, patience, "the amount", func() bool { return p.text("card-amount") == "¥0.10" })
		p.Type(kb.Escape)
		testenv.Eventually(t, patience, "nothing flies any more", func() bool {
			return eval[bool](p, `(({ drops, particles }) => drops + particles === 0)(redrain.stats())`)
		})
		if i == 2 {
			third = p.Holdings()
		}
	}
	last := p.Holdings()
	t.Logf("after three rains %+v, after ten %+v", third, last)
	if last.Nodes > third.Nodes+20 || last.Listeners > third.Listeners {
		t.Errorf("after three rains %+v, after ten %+v", third, last)
	}
	// A win is remembered (some hundred bytes); a rain is not.
	if grown := last.Heap - third.Heap; grown > 300_000 {
		t.Errorf("seven rains took %.0f bytes", grown)
	}
}
