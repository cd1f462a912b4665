package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// files are the files of an archive, by their slash-separated paths.
type files map[string]file

// file is a file, or with the bit os.ModeDir a folder.
type file struct {
	data  []byte
	mode  os.FileMode // 0 = 0644
	owner int         // user and group
}

func (f file) permissions() os.FileMode { return cmp.Or(f.mode, 0o644).Perm() }

// addTree adds the files of a tree, below a prefix.
func (f files) addTree(prefix string, tree fs.FS) error {
	return fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		f[prefix+path] = file{data: data}
		return err
	})
}

// writeTo writes the files below a folder.
func (f files) writeTo(dir string) error {
	for name, file := range f {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // artefacts are public
			return err
		}
		if err := os.WriteFile(path, file.data, file.permissions()); err != nil {
			return err
		}
	}
	return nil
}

// tar writes the files as a tar file, below a prefix. Nothing in it depends on the machine or the time of the build.
func (f files) tar(w io.Writer, prefix string, date time.Time) error {
	archive := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		file := f[name]
		header := tar.Header{
			Name: prefix + name, Mode: int64(file.permissions()), Size: int64(len(file.data)), ModTime: date,
			Uid: file.owner, Gid: file.owner,
		}
		if file.mode.IsDir() {
			header.Typeflag = tar.TypeDir
		}
		if file.mode&os.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := archive.Write(file.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// tarGz writes a gzip-compressed tar file to a path.
func (f files) tarGz(path, prefix string, date time.Time) error {
	return create(path, func(w io.Writer) error {
		zipped := gzip.NewWriter(w)
		if err := f.tar(zipped, prefix, date); err != nil {
			return err
		}
		return zipped.Close()
	})
}

// create writes a file with a function.
func create(path string, write func(io.Writer) error) error {
	out, err := os.Create(path) //nolint:gosec // our own folder
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		_ = out.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return out.Close()
}

// archive writes the program and its documents as redrain_VERSION_OS_ARCH.tar.gz.
func (r release) archive(p program) error {
	data, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	all := maps.Clone(p.docs)
	all["redrain"] = file{data: data, mode: 0o755}
	return all.tarGz(r.artefact(p, ".tar.gz"), r.base(p)+"/", r.date)
}

func (r release) base(p program) string { return "redrain_" + r.version + "_" + p.os + "_" + p.arch }

// artefact returns the path of a platform's artefact with a suffix.
func (r release) artefact(p program, suffix string) string {
	return filepath.Join(r.dist, r.base(p)+suffix)
}

// writeSums writes SHA256SUMS, in the form of sha256sum, for all files of a folder.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name())) //nolint:gosec // our own folder
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644) //nolint:gosec // public
}
