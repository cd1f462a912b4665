package server

import (
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// mostVerifyFile is how long a file may be, in bytes: what WeChat and others give has some dozen.
const mostVerifyFile = 4 << 10

// readVerifyFiles reads the files by which WeChat (MP_verify_….txt) and others are shown whose a domain is, by their
// names.
func readVerifyFiles(paths []string) (map[string][]byte, error) {
	files := make(map[string][]byte, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // whoever starts the server names it
		if err != nil {
			return nil, fmt.Errorf("--verify-files: %w", err)
		}
		if len(text) == 0 || len(text) > mostVerifyFile || !utf8.Valid(text) {
			return nil, fmt.Errorf("--verify-files %s: give a text of 1 to %d bytes", path, mostVerifyFile)
		}
		files[filepath.Base(path)] = text
	}
	return files, nil
}
