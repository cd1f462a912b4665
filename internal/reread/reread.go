// Package reread reads files that may be replaced while the process runs: a certificate, a list of operators, a secret.
package reread

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// checkEvery is the least time between two checks of the files.
const checkEvery = 5 * time.Second

// Files are read at the start, and again when one of them has changed. Newest checks them, so that changes are in use
// within seconds without a background goroutine.
type Files[T any] struct {
	what  string // describes the content for the log
	read  func() (T, error)
	names []string
	log   *slog.Logger

	mu      sync.Mutex
	current T
	seen    []os.FileInfo // of the files at the last reading; nil for a missing one
	checked time.Time
}

// New reads the files for the first time. The error is that of read.
func New[T any](what string, log *slog.Logger, read func() (T, error), names ...string) (*Files[T], error) {
	f := &Files[T]{what: what, read: read, names: names, log: log, checked: time.Now()}
	f.seen = f.look()
	var err error
	f.current, err = read()
	return f, err
}

// Newest returns the last value that could be read. If the files cannot be read, as while they are being replaced, it
// logs the error and tries again later.
func (f *Files[T]) Newest() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.checked) < checkEvery {
		return f.current
	}
	f.checked = now
	seen := f.look()
	if slices.EqualFunc(seen, f.seen, same) {
		return f.current
	}
	next, err := f.read()
	if err != nil {
		f.log.Warn("read a changed file; the last content stays in use", "what", f.what, "files", f.names,
			"err", err)
		return f.current
	}
	f.current, f.seen = next, seen
	f.log.Info("a file was read again", "what", f.what, "files", f.names)
	return f.current
}

// look returns the files as they are now.
func (f *Files[T]) look() []os.FileInfo {
	seen := make([]os.FileInfo, len(f.names))
	for i, name := range f.names {
		seen[i], _ = os.Stat(name) // the error of a missing file is that of reading it
	}
	return seen
}

// same reports whether a file has not changed. A replaced file may have the same time and size. Kubernetes exchanges a
// symbolic link, and a new secret is as long as the old one.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
