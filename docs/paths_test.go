package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"redrain/internal/testenv"
)

// sourcePath matches the path of a source file in a page's backquotes.
var sourcePath = regexp.MustCompile(
	"`((?:docs|grab|internal|lua|payout|rain|room|server|tools|web)/[\\w./-]+" +
		"\\.(?:go|lua|ts|tsx|sql|txt|yaml))`")

// pageLink matches a link to a file, relative to the page.
var pageLink = regexp.MustCompile(`\]\(([\w./-]+)(?:#[\w-]+)?\)`)

// TestPagesNameFilesThatExist holds the pages to the layout: a file that moves takes its mentions and links along.
func TestPagesNameFilesThatExist(t *testing.T) {
	t.Parallel()
	pages := []string{"../README.md", "../CONTRIBUTING.md", "../README.zh.md"}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		testenv.Must(t, err)
		pages = append(pages, found...)
	}
	named := 0
	for _, page := range pages {
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
