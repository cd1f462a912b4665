package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"redrain/internal/testenv"
)

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
	testenv.Equal(t, p.text("alarm"), "The rain has started", "a screen reader is told")
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

// focus is the id of what has the keyboard.
func (p *tab) focus() string {
	p.t.Helper()
	return eval[string](p, `document.activeElement.id`)
}
