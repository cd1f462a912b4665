package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"redrain/internal/testenv"
)

// The forms in which sources name an error's code: beside its status, in a field, or as a constant of the socket's.
var (
	beside   = regexp.MustCompile(`(?:http\.Status\w+, |[^.]status, |Code(?::| =) +)"([a-z_]+)"`)
	refused  = regexp.MustCompile(`t\.refuse\(w, "([a-z_]+)"`)
	ofSocket = regexp.MustCompile(`Code\w+ += "([a-z_]+)"`)
	row      = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ")
)

// TestEveryCodeIsInTheDocs checks that docs/build/api.md lists every code of an error, and no other.
func TestEveryCodeIsInTheDocs(t *testing.T) {
	codes := map[string]bool{}
	for _, place := range []struct {
		pattern string
		named   *regexp.Regexp
	}{
		{"../server/api/*.go", beside}, {"../server/sockets/*.go", refused}, {"../server/gateway/*.go", beside},
		{"../internal/wire/*.go", ofSocket},
	} {
		files, err := filepath.Glob(place.pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", place.pattern, err)
		}
		for _, file := range files {
			if isTest, _ := filepath.Match("*_test.go", filepath.Base(file)); isTest {
				continue
			}
			source, err := os.ReadFile(file)
			testenv.Must(t, err)
			for _, found := range place.named.FindAllSubmatch(source, -1) {
				codes[string(found[1])] = true
			}
		}
	}
	page, err := os.ReadFile("build/api.md")
	testenv.Must(t, err)
	var listed []string
	for _, found := range row.FindAllSubmatch(page, -1) {
		listed = append(listed, string(found[1]))
	}
	if !slices.IsSorted(listed) || len(slices.Compact(slices.Clone(listed))) != len(listed) {
		t.Errorf("not in order, or twice: %v", listed)
	}
	for _, code := range listed {
		if !codes[code] {
			t.Errorf("%s is listed, and no source names it", code)
		}
		delete(codes, code)
	}
	for code := range codes {
		t.Errorf("%s is not listed", code)
	}
}
