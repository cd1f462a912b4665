package web_test

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/rain"
)

// TestPlayStates: the server's messages change the page at once, and each state names the next step.
func TestPlayStates(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	p := play(t, f)
	start := f.setRain(-2*time.Second, time.Hour)
	f.wave(0, start, [3]int{300, 0, 20000})
	p.mode("falling")
	const bar = `document.querySelector(".track").classList.contains("on")`
	p.Until("a bar of the rest of the rain", bar)
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
	p.Until("no winner is shown", `document.getElementById("ticker").hidden`)
	p.State("closed")
}

// TestBackButton: the phone's back button closes the dialog before the game, and the game goes on. It leaves nothing in
// the history that the next press would have to undo. The QR code on the poster leads to the event, and names no
// player.
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

// TestDelight: the card's words and beams depend on the won share of the event, not on the amount in yuan. The beams do
// not move for players who want no motion.
func TestDelight(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	const average, large = 200, 20_000 // minor units a packet
	for _, c := range []struct {
		name            string
		average, amount int
		calm            bool
		title, rays     string
	}{
		{"less than most", average, 88, false, "Congratulations!", "1 none none"}, //nolint:dupword // CSS
		{"more than most", average, 350, false, "Lucky you!", "2 block none"},
		{"a golden one", average, 888, false, "Jackpot!", "3 block rays"},
		{"of a larger event", large, 888, false, "Congratulations!", "1 none none"}, //nolint:dupword // values of CSS
		{"without motion", average, 888, true, "Jackpot!", "3 block none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			f := newFake(t)
			f.about["budget"] = c.average * f.about["packets"].(int)
			f.judge = func(string) object { return f.won(1, c.amount) }
			p := openTab(t, f, chromium.Options{Device: chromium.Phone, Calm: c.calm}, chromium.Network)
			p.goIn("/?debug&campaign=c1")
			start := p.rains([3]int{300, 0, slowly})
			p.hitDrop(0, start, 300)
			p.ends()
			p.shows("card-amount", fmt.Sprintf("¥%.2f", float64(c.amount)/100))
			p.shows("card-title", c.title)
			p.State("card")
			if got := eval[string](p, `((s) => card.dataset.tier + " " + s.display + " " + s.animationName)(
				getComputedStyle(card.querySelector(".rays")))`); got != c.rays {
				t.Errorf("tier and beams are %q, want %q", got, c.rays)
			}
		})
	}
}

// TestPlayByKeyboard plays from the landing to a withdrawal without a pointer. The focus can be seen wherever it is.
func TestPlayByKeyboard(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return f.won(9, 42) }
	p := openPage(t, f, "/?campaign=c1", 1280, 800)
	p.mode("landing")
	eval[bool](p, `(window.pointers = 0, addEventListener("pointerdown", () => pointers++, true), true)`)
	p.tabTo("play")
	p.Type(kb.Enter)
	p.mode("waiting")
	start := p.rains([3]int{300, 1, slowly}, [3]int{700, 0, slowly})
	f.wave(1, start+slowly/6, [3]int{500, 0, slowly})
	testenv.Eventually(t, patience, "the canvas has the keyboard", func() bool { return p.focus() == "rain" })
	testenv.Equal(t, p.text("alarm"), "The rain has started", "a screen reader gets")
	p.Type(kb.Tab)
	testenv.Eventually(t, patience, "the ring is announced",
		func() bool { return strings.Contains(p.text("announce"), "1 of ") })
	p.State("ring")
	p.Type(kb.Escape)
	p.Type(" ") // nothing in the ring: the lowest packet, not the decoy beside it
	p.shows("announce", "You won 0.42 yuan, packet 1 of up to 3")
	testenv.Equal(t, f.tapped(), []string{"0.1"}, "tapped")
	f.settle()
	p.ends()
	testenv.Equal(t, p.focus(), "card-ok", "on the card the keyboard is on #")
	p.shows("card-amount", "¥0.42")
	p.Type(kb.Tab)
	p.Type(kb.Enter)
	p.opens("sheet")
	p.tabTo("withdraw-amount")
	p.Type("0.42")
	p.Type(kb.Enter)
	p.tabTo("withdraw-yes")
	p.Type(kb.Enter)
	p.shows("withdraw-message", "Withdrawal of ¥0.42 requested")
	p.Type(kb.Escape)
	p.Until("Esc closes them", `!document.getElementById("sheet").open`)
	p.mode("waiting")
	testenv.Equal(t, eval[int](p, "pointers"), 0, "pointer events in a game of keys")
}

// tabTo presses Tab until an element has the focus, and has an outline or a shadow that shows it.
func (p *tab) tabTo(id string) {
	p.t.Helper()
	for range 40 {
		if p.focus() == id {
			p.Until("the focus on #"+id+" can be seen", `[document.activeElement, document.activeElement.parentElement]
				.map((e) => getComputedStyle(e)).some((s) =>
					s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== "none")`)
			return
		}
		p.Type(kb.Tab)
	}
	p.t.Fatalf("forty times Tab do not lead to #%s", id)
}

// focus is the id of the element with the keyboard focus.
func (p *tab) focus() string {
	p.t.Helper()
	return eval[string](p, `document.activeElement.id`)
}

// TestCardLuck: the card of a rain with draws has a button that computes the player's beats again. It names the one
// claim that the seed has not granted.
func TestCardLuck(t *testing.T) {
	browserFrom(t, testenv.All)
	for lang, said := range map[string][3]string{
		"en": {"The seed isn’t published yet", "Draws: %[2]d, lucky: %[1]d, packets won: ",
			"This doesn’t match the published seed: c1-66"},
		"zh": {"结果还没有公布", "本场 %[2]d 次机会，%[1]d 次中签，其中 ", "结果与公布的不一致：c1-66"},
	} {
		f := newFake(t)
		drawn := &rain.Rain{Seed: rain.Seed{7}, Settings: rain.Settings{Odds: rain.OddsOne / 2, BeatMS: 1_000}}
		const beats, waves = 10, 40
		lucky, unlucky := 0, int64(-1)
		for beat := range int64(beats) {
			if drawn.LuckyIn("guest-7f3a", beat) {
				lucky++
			} else {
				unlucky = beat
			}
		}
		fairness := object{"commitment": drawn.Seed.Commitment(), "schedule": object{"rain": rainID, "campaign": "c1",
			"starts_at": f.now() - slowly/3, "odds": 0.5, "beat_ms": 1_000, "first_wave": 0, "waves": waves}}
		f.draws = object{"odds": 0.5, "beat_ms": 1_000, "commitment": drawn.Seed.Commitment()}
		path := "GET /campaigns/c1/rains/" + rainID + "/fairness"
		f.setAnswer(path, reply(http.StatusOK, fairness))

		p := play(t, f)
		if lang == "zh" {
			p.Press("#language")
		}
		f.setRain(-slowly/3*time.Millisecond, time.Hour)
		p.mode("falling")
		p.ends()
		check := func(what string) {
			t.Helper()
			p.Press("#card-luck")
			p.Until("the page says "+what, `document.getElementById("card-luck-said").textContent.includes(%q)`, what)
		}
		check(said[0])
		fairness["seed"] = hex.EncodeToString(drawn.Seed[:])
		f.setAnswer(path, reply(http.StatusOK, fairness))
		check(fmt.Sprintf(said[1], lucky, beats))
		f.mu.Lock()
		f.claims = append(f.claims, object{"claim": "c1-66", "packet": "66", "amount": 5, "state": "settled",
			"at": f.now(), "ticket": fmt.Sprintf("b%d", 4*unlucky)})
		f.mu.Unlock()
		check(said[2])
	}
}
