package browsertest

import (
	"regexp"
	"strings"
)

var (
	chinese = regexp.MustCompile(`\p{Han}`)
	// A word is three letters or more: units and abbreviations are the same in both languages.
	word = regexp.MustCompile(`\p{Latin}{3,}`)
)

// Speaks fails the test for each text of the page, in its present state, that is not in its language: "zh", in which no text may
// have words and nothing Chinese, or "en", in which none may have anything Chinese. names are texts that are what they are in both: of
// people, campaigns, products; they are taken out before.
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
	return word.MatchString(text) && !chinese.MatchString(text)
}
