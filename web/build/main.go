// Command build writes web/dist, what the pages are made of, from the sources in web. Run it at the root of the module:
//
//	go run ./web/build
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"redrain/web/bundle"
)

func main() {
	if err := write("web"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes dist anew: a file whose hash has changed leaves no older one behind.
func write(dir string) error {
	files, err := bundle.Build(dir)
	if err != nil {
		return err
	}
	dist := filepath.Join(dir, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	for name, data := range files {
		file := filepath.Join(dist, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // sources, for all to read
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil { //nolint:gosec // sources, for all to read
			return err
		}
	}
	return nil
}
