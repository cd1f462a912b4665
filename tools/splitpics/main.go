// Command splitpics draws the pictures of docs/understand/splits.md, one for each distribution, into the given
// directory. It cuts real splits from fixed seeds and draws with whole numbers only, so that it makes the same files on
// every machine. A test compares the checked-in pictures with it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "splitpics:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the directory to draw into, and nothing else")
	}
	for _, p := range pictures() {
		drawn, err := p.draw()
		if err != nil {
			return err
		}
		file := filepath.Join(args[0], p.File)
		if err := os.WriteFile(file, drawn, 0o644); err != nil { //nolint:gosec // a picture for everybody
			return err
		}
	}
	return nil
}
