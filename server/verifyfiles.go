package server

import (
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// mostVerifyFile is the limit of a file, in bytes. Those of WeChat and others have some dozen.
const mostVerifyFile = 4 << 10

// readVerifyFiles reads the files that prove the owner of a domain to WeChat (MP_verify_….txt) and others. The keys are
// the files' names.
func readVerifyFiles(paths []string) (map[string][]byte, error) {
	files := make(map[string][]byte, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // the operator's own setting
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
