package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"redrain/internal/testenv"
)

// TestChart renders the chart anew, checks its objects, and compares them with the committed ones. Helm and the types
// of Kubernetes are in a module of their own, which compiles for a minute.
func TestChart(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Heavy)
	dir := t.TempDir()
	run(t, "go", "run", "-C", filepath.Join("..", "chart"), ".", "-redrain", testenv.Binary(t), dir)
	names := testenv.Got(filepath.Glob(filepath.Join(dir, "*.yaml"))).Must(t)
	testenv.Equal(t, len(names), 5, "files of the chart")
	for _, name := range names {
		committed := filepath.Join("..", "chart", "testdata", filepath.Base(name))
		want, err := os.ReadFile(committed)
		if got := testenv.Got(os.ReadFile(name)).Must(t); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): go run -C tools/chart . testdata", committed, err)
		}
	}
}
