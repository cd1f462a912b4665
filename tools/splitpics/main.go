// Command splitpics draws the pictures of docs/splits.md, a distribution each, into the directory that it is given.
// It cuts real splits from fixed seeds and draws with whole numbers only, so that it makes the same files
// everywhere; a test holds those that are checked in to it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "splitpics:", err)
		os.Exit(1) //nolint:forbidigo // this is a main
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
		if err := os.WriteFile(filepath.Join(args[0], p.File), drawn, 0o644); err != nil { //nolint:gosec // a picture for everybody
			return err
		}
	}
	return nil
}
