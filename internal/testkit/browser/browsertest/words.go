package browsertest

import (
	"regexp"
	"slices"
	"strings"
)

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
