package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"redrain/web/bundle"
)

// npm writes the client's library as npm pack would: a tar file with the folder "package", without times or owners.
func npm(root, dir, version string) error {
	files, err := bundle.Package(filepath.Join(root, "web"), version)
	if err != nil {
		return fmt.Errorf("build the npm package: %w", err)
	}
	out, err := os.Create(filepath.Join(dir, "redrain-client-"+version+".tgz")) //nolint:gosec // our own folder
	if err != nil {
		return err
	}
	if err := pack(out, files); err != nil {
		_ = out.Close()
		return fmt.Errorf("write %s: %w", out.Name(), err)
	}
	return out.Close()
}

func pack(out io.Writer, files map[string][]byte) error {
	zipped := gzip.NewWriter(out)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(files[name]))}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return zipped.Close()
}
