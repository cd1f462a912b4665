package main

import (
	"fmt"
	"path/filepath"
	"time"

	"redrain/web/bundle"
)

// npm writes the client's library as npm pack would: a tar file with the folder "package", without times or owners.
func npm(root, dir, version string) error {
	library, err := bundle.Package(filepath.Join(root, "web"), version)
	if err != nil {
		return fmt.Errorf("build the npm package: %w", err)
	}
	packed := files{}
	for name, data := range library {
		packed[name] = file{data: data}
	}
	return packed.tarGz(filepath.Join(dir, "redrain-client-"+version+".tgz"), "package/", time.Time{})
}
