package server

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"unicode/utf8"
)

// mostVerifyFile is how long a file may be, in bytes: what WeChat and others give has some dozen.
const mostVerifyFile = 4 << 10

// verifyName is what a file may be called. Text only: a page of somebody else's would run as one of ours.
var verifyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\.txt$`)

func (c *Config) validateVerifyFiles(fault func(string, ...any)) {
	taken := map[string]bool{"licenses.txt": true}
	for _, path := range c.VerifyFiles {
		name := filepath.Base(path)
		if !verifyName.MatchString(name) {
			fault("--verify-files %q: a name is of letters, digits, _, - and dots, and ends with .txt", name)
		} else if taken[name] {
			fault("--verify-files %q: there is another file of this name", name)
		}
		taken[name] = true
	}
}

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
