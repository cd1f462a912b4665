package browsertest

import (
	"regexp"
	"slices"
	"strings"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
)

// Look looks at a state of a page that has been reached, on one device after the other: that it says nothing in
// another language than its own, that nobody is shut out of it (axe), that it does not have to be scrolled
// sideways; and keeps a screenshot of each, named state-device-language. Only -nightly looks at devices between the
// first and the last.
func (p *Page) Look(state, language string, on []browser.Device, names ...string) {
	p.T.Helper()
	for i, d := range on {
		if i > 0 && i < len(on)-1 && !testenv.Covers(testenv.Nightly) {
			continue
		}
		p.Resize(d)
		p.Settle()
		name := state + "-" + d.Name + "-" + language
		p.ShootAs(name)
		// What axe looks at is the same in each language, and between the smallest device and the largest.
		if language == "en" && (i == 0 || i == len(on)-1) {
			p.Axe(name)
		}
		p.NoWider(name)
		if p.Looked != nil {
			p.Looked(name)
		}
	}
	p.Speaks(language, state, names...)
}

// Few returns the first of the devices and languages that a test looks at, and all of them with -nightly.
func Few[S ~[]T, T any](all S) S {
	if testenv.Covers(testenv.Nightly) {
		return all
	}
	return all[:1]
}

// Settle waits until the page has been laid out anew, and short transitions of its are over.
func (p *Page) Settle() {
	p.T.Helper()
	Eval[bool](p, `(async () => {
		const frame = () => new Promise((next) => { requestAnimationFrame(next); setTimeout(next, 200); });
		await frame();
		await frame();
		const short = (a) => (a.effect?.getComputedTiming().endTime ?? 0) < 1500;
		await Promise.allSettled(document.getAnimations().filter(short).map((a) => a.finished));
		return true;
	})()`)
}

// NoWider fails the test where the page is wider than the device. It does not ask for innerWidth, which on a phone is
// as wide as the page.
func (p *Page) NoWider(state string) {
	p.T.Helper()
	width := p.Device().Width
	if wide := Eval[float64](p, `document.documentElement.scrollWidth`); wide > float64(width) {
		p.T.Errorf("%s is %v px wide, and the screen %d", state, wide, width)
	}
}

var (
	chinese = regexp.MustCompile(`\p{Han}`)
	// A word is three letters or more: units and abbreviations are the same in both languages. So are ids,
	// addresses and data: what has a digit, a slash or a brace in it.
	word = regexp.MustCompile(`^\p{Latin}{3,}$`)
	edge = ".,:;!?…()“”\"'¥%"
)

// Speaks fails the test for each text of the page, in its present state, that is not in its language: "zh", in
// which no text may have words and nothing Chinese, or "en", in which none may have anything Chinese. names are
// texts that are what they are in both: of people, campaigns, products; they are taken out before.
func (p *Page) Speaks(language, state string, names ...string) {
	p.T.Helper()
	found, err := p.Words()
	p.check(err)
	for _, text := range found {
		rest := text
		for _, name := range names {
			rest = strings.ReplaceAll(rest, name, "")
		}
		if foreign(language, rest) {
			p.T.Errorf("%s: in %s the page says %q", state, language, text)
		}
	}
}

func foreign(language, text string) bool {
	if language == "en" {
		return chinese.MatchString(text)
	}
	return !chinese.MatchString(text) && slices.ContainsFunc(strings.Fields(text), func(f string) bool {
		return word.MatchString(strings.Trim(f, edge))
	})
}
