package web_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

// TestFaultsAreTranslated: the console has words of its own, in both languages, for each code that a refusal can have,
// and for no other. docs/build/api.md lists them all.
func TestFaultsAreTranslated(t *testing.T) {
	listed := codesIn(t, "../docs/build/api.md", "(?m)^\\| `([a-z_]+)` \\| [0-9]")
	said := codesIn(t, "src/console/strings/faults.ts", `(?m)^  ([a-z_]+): \{ zh: ".+", en: ".+" \},$`)
	wantSame(t, "fault", said, listed)
	if len(listed) < 40 {
		t.Errorf("%d codes are listed", len(listed))
	}
}

// TestSentencesAreTheServers: each sentence that the console translates is one that the server's sources say, whole.
func TestSentencesAreTheServers(t *testing.T) {
	said := map[string]bool{}
	eachSource(t, func(path string) { collectSentences(t, path, said) }, "../payout", "../rain", "../server/api")
	text := testenv.Got(os.ReadFile("src/console/strings/server.ts")).Must(t)
	translated := regexp.MustCompile(`(?m)^  \["(.+)", "(.+)"\],$`).FindAllStringSubmatch(string(text), -1)
	if len(translated) < 50 {
		t.Errorf("%d sentences are translated", len(translated))
	}
	slot, place := regexp.MustCompile(`\{\d[:*>]?\}`), regexp.MustCompile(`\{\d\}`)
	for _, s := range translated {
		if !said[slot.ReplaceAllString(s[1], "{}")] {
			t.Errorf("the server never says %q", s[1])
		}
		testenv.Equal(t, len(place.FindAllString(s[2], -1)), len(slot.FindAllString(s[1], -1)),
			"parts of the translation of %q", s[1])
	}
}

// collectSentences adds the strings of a source, put together where they are cut over lines or around a value, with {}
// for what varies.
func collectSentences(t *testing.T, path string, said map[string]bool) {
	t.Helper()
	text := testenv.Got(os.ReadFile(path)).Must(t)
	source := regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(string(text), "")
	source = regexp.MustCompile(`"\s*\+\s*[\w.()]+\s*\+\s*"`).ReplaceAllString(source, "{}")
	source = regexp.MustCompile(`%[a-z]`).ReplaceAllString(source, "{}")
	for _, tag := range regexp.MustCompile(`zero:"([^"]+)"`).FindAllStringSubmatch(source, -1) { // of rain's settings
		said["is 0 ("+tag[1]+") to {}"] = true
	}
	for _, s := range regexp.MustCompile(`(\) ?\+ ?)?"([^"\n]+)"( ?\+ ?[a-zA-Z])?`).FindAllStringSubmatch(source, -1) {
		sentence := s[2]
		if s[1] != "" {
			sentence = "{}" + sentence
		}
		if s[3] != "" {
			sentence += "{}"
		}
		said[sentence] = true
	}
}

// TestAlarmsAreTranslated: the console has a name, in both languages, for each alarm that the server raises, and says
// in Chinese what it means: the server's own words are English.
func TestAlarmsAreTranslated(t *testing.T) {
	said := codesIn(t, "src/console/strings/status.ts", `(?m)^  code_([a-z_]+): \{ zh: ".+", en: ".+" \},$`)
	meant := codesIn(t, "src/console/strings/status.ts", `(?m)^  say_([a-z_]+): \{ zh: ".+", en: "" \},$`)
	raised := map[string]bool{}
	eachSource(t, func(path string) {
		maps.Copy(raised, codesIn(t, path, `(?i)(?:\balarm\(|\bcode[a-z]+ += )"([a-z_]+)"`))
	}, "../server", "../payout")
	wantSame(t, "alarm", said, raised)
	wantSame(t, "meaning of the alarm", meant, said)
	if len(raised) < 15 {
		t.Errorf("%d alarms are raised", len(raised))
	}
}

// eachSource calls do for the Go files of some folders that are no tests.
func eachSource(t *testing.T, do func(path string), trees ...string) {
	t.Helper()
	for _, tree := range trees {
		testenv.Must(t, filepath.WalkDir(tree, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				do(path)
			}
			return err
		}))
	}
}

// wantSame wants the console to have words for each code that there is, and for no other.
func wantSame(t *testing.T, of string, said, is map[string]bool) {
	t.Helper()
	for code := range is {
		if !said[code] {
			t.Errorf("the console has no words for the %s %s", of, code)
		}
	}
	for code := range said {
		if !is[code] {
			t.Errorf("the console has words for the %s %s, and there is none", of, code)
		}
	}
}

func codesIn(t *testing.T, file, pattern string) map[string]bool {
	t.Helper()
	text := testenv.Got(os.ReadFile(file)).Must(t)
	codes := map[string]bool{}
	for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		codes[string(found[1])] = true
	}
	return codes
}
