package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"redrain/internal/testenv"
)

// sourcePath matches the path of a source file in a page's backquotes.
var sourcePath = regexp.MustCompile(
	"`((?:deploy|docs|grab|internal|lua|payout|rain|room|server|tools|web)/[\\w./-]+" +
		"\\.(?:go|lua|ts|tsx|sql|txt|yaml))`")

// pageLink matches a link to a file, relative to the page, or to a section.
var pageLink = regexp.MustCompile(`\]\(([\w./-]*)(?:#([\w-]+))?\)`)

// heading matches a heading of a page.
var heading = regexp.MustCompile("(?m)^#+ (.*)$")

// TestPagesNameFilesThatExist holds the pages to the layout: a file that moves takes its mentions and links along.
func TestPagesNameFilesThatExist(t *testing.T) {
	t.Parallel()
	named := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		testenv.Must(t, err)
		for path, dir := range map[*regexp.Regexp]string{sourcePath: "..", pageLink: filepath.Dir(page)} {
			for _, match := range path.FindAllSubmatch(text, -1) {
				named++
				if _, err := os.Stat(filepath.Join(dir, string(match[1]))); err != nil {
					t.Errorf("%s names %s, which is not there", page, match[1])
				}
			}
		}
	}
	if named < 200 {
		t.Errorf("the pages name %d files; the pattern misses some", named)
	}
}

// TestLinksNameSections: each link to a section of a page finds its heading.
func TestLinksNameSections(t *testing.T) {
	t.Parallel()
	linked := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		testenv.Must(t, err)
		for _, match := range pageLink.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(page), match[1])
			if match[1] == "" {
				target = page
			}
			if match[2] == "" || filepath.Ext(target) != ".md" {
				continue
			}
			linked++
			if _, ok := sections(t, target)[match[2]]; !ok {
				t.Errorf("%s links to %s#%s, which is not there", page, match[1], match[2])
			}
		}
	}
	if linked < 40 {
		t.Errorf("the pages link to %d sections; the pattern misses some", linked)
	}
}

// sections are the texts below the headings of a page, by their anchors as GitHub makes them.
func sections(t *testing.T, page string) map[string]string {
	t.Helper()
	text := string(testenv.Got(os.ReadFile(page)).Must(t))
	all := map[string]string{}
	found := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		all[anchor(text[at[2]:at[3]])] = text[at[1]:end]
	}
	return all
}

func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// pages are all pages of Markdown.
func pages(t *testing.T) []string {
	t.Helper()
	pages := []string{"../README.md", "../CONTRIBUTING.md", "../README.zh.md", "../deploy/README.md"}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		testenv.Must(t, err)
		pages = append(pages, found...)
	}
	return pages
}
