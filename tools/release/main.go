// Command release builds the artefacts of a release into dist/, without network access.
//
//	go run -C tools ./release
//
// dist/redrain-client-VERSION.tgz is the client's library for npm. Two builds of one commit are equal, byte for byte.
package main

import (
	"log/slog"
	"os"
	"path/filepath"
)

func main() {
	if err := release("..", filepath.Join("..", "dist")); err != nil {
		slog.Error("no release", "err", err)
		os.Exit(1)
	}
}

// release builds the artefacts of the tree at root into dir.
func release(root, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // artefacts are public
		return err
	}
	version, err := newestVersion(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	return npm(root, dir, version)
}
