package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"redrain/internal/testenv"
)

// TestBoardsAreFresh: the committed dashboards are those of this program.
func TestBoardsAreFresh(t *testing.T) {
	files, err := render()
	testenv.Must(t, err)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", name))
		testenv.Must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is old: run go run -C tools ./boards", name)
		}
	}
}
