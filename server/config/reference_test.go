package config

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated pages anew")

// TestReferenceIsFresh compares the pages about settings with the tags that they are made from.
func TestReferenceIsFresh(t *testing.T) {
	const begin, end = "<!-- settings: generated from server/config -->\n", "<!-- /settings -->"
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(readme), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatal("the README has no place for the table of settings")
	}
	for name, want := range map[string]string{
		"../../docs/use/settings.md": Reference(), "../../docs/use/redrain.yaml": Sample(),
		"../../README.md": before + begin + MainTable() + end + after,
	} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not fresh (%v): go generate ./server/config", name, err)
		}
	}
}
