package web_test

import (
	"os"
	"regexp"
	"testing"
)

// TestFaultsAreTranslated: the console has words of its own, in both languages, for each code that a refusal can have,
// and for no other. docs/protocol.md lists them all.
func TestFaultsAreTranslated(t *testing.T) {
	listed := codesIn(t, "../docs/protocol.md", "(?m)^\\| `([a-z_]+)` \\| [0-9]")
	said := codesIn(t, "src/console/strings/faults.ts", `(?m)^  ([a-z_]+): \{ zh: ".+", en: ".+" \},$`)
	for code := range listed {
		if !said[code] {
			t.Errorf("web/src/console/strings/faults.ts says nothing of %s", code)
		}
	}
	for code := range said {
		if !listed[code] {
			t.Errorf("%s is translated, and docs/protocol.md does not list it", code)
		}
	}
	if len(listed) < 40 {
		t.Errorf("%d codes are listed", len(listed))
	}
}

func codesIn(t *testing.T, file, pattern string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		codes[string(found[1])] = true
	}
	return codes
}
