package browsertest

import (
	"regexp"
	"slices"
	"strings"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
)

// Look checks the current state of a page on one device after the other: its language, its accessibility (axe), and its
// width. It keeps a screenshot of each, named state-device-language. Only -nightly checks devices between the first and
// the last.
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
		// The result of axe is the same in each language, and between the smallest device and the largest.
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

// NoWider fails the test if the page is wider than the device. It does not ask for innerWidth, which on a phone is as
// wide as the page.
func (p *Page) NoWider(state string) {
	p.T.Helper()
	width := p.Device().Width
	if wide := Eval[float64](p, `document.documentElement.scrollWidth`); wide > float64(width) {
		p.T.Errorf("%s is %v px wide, and the screen %d", state, wide, width)
	}
}

var (
	chinese = regexp.MustCompile(`\p{Han}`)
	// A word has three characters or more, because units and abbreviations are the same in both languages. Texts with a
	// digit, a slash or a brace are ids, addresses and data.
	word = regexp.MustCompile(`^\p{Latin}{3,}$`)
	edge = ".,:;!?…()“”\"'¥%"
)

// Speaks fails the test for each text of the page that is not in its language. With "zh" no text may have English words
// without Chinese; with "en" none may have Chinese. names are ignored: of people, campaigns, products.
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
