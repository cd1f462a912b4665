package docs_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

var update = flag.Bool("update", false, "write the shapes of messages in build/sdk.md anew")

var (
	comment = regexp.MustCompile(`(?m)^ */\*\*(?s:.*?)\*/\n`)
	shapes  = regexp.MustCompile("(?s)```ts\n.*?```")
)

// TestShapesOfMessages: the shapes in build/sdk.md are the declarations of redrain.d.ts, without their comments.
func TestShapesOfMessages(t *testing.T) {
	source, err := os.ReadFile("../web/sdk/redrain.d.ts")
	testenv.Must(t, err)
	_, declared, _ := strings.Cut(string(source), "/** Something that falls. */")
	declared, _, found := strings.Cut(declared, "/** The argument of each event's listener. */")
	if !found {
		t.Fatal("redrain.d.ts has other landmarks now")
	}
	want := strings.TrimSpace(strings.ReplaceAll(comment.ReplaceAllString(declared, ""), "export ", ""))
	want = strings.ReplaceAll(want, "}\n\n", "}\n")
	want = "```ts\n" + want + "\n```"
	page, err := os.ReadFile("build/sdk.md")
	testenv.Must(t, err)
	if *update {
		page = shapes.ReplaceAllLiteral(page, []byte(want))
		testenv.Must(t, os.WriteFile("build/sdk.md", page, 0o600))
	}
	if got := shapes.Find(page); string(got) != want {
		t.Error("build/sdk.md has other shapes than redrain.d.ts: run go test ./docs -run TestShapesOfMessages -update")
	}
}
