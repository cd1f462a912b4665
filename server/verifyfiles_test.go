package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/server/config"
)

func TestVerifyFilesAreSmallTexts(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	good := file("MP_verify_Ab1.txt", "Ab1")
	if files, err := readVerifyFiles([]string{good}); err != nil || string(files["MP_verify_Ab1.txt"]) != "Ab1" {
		t.Errorf("%v %v", files, err)
	}
	for _, bad := range []string{filepath.Join(dir, "none.txt"), file("empty.txt", ""),
		file("long.txt", strings.Repeat("x", mostVerifyFile+1)), file("binary.txt", "\xff\xfe"), dir} {
		if _, err := readVerifyFiles([]string{good, bad}); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	for _, names := range [][]string{{"index.html"}, {"licenses.txt"}, {".txt"}, {"a b.txt"}, {"a/x.txt", "b/x.txt"},
		{"assets"}} {
		c := config.Default()
		c.VerifyFiles = names
		if len(c.Validate()) != 1 {
			t.Errorf("%v: %v", names, c.Validate())
		}
	}
}
