// Package reread reads files that may be replaced while the process runs: a certificate, a list of operators.
package reread

import (
	"fmt"
	"log/slog"
	"os"
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
	stamp   string // of the files at the last reading
	checked time.Time
}

// New reads the files for the first time. The error is that of read.
func New[T any](what string, log *slog.Logger, read func() (T, error), names ...string) (*Files[T], error) {
	f := &Files[T]{what: what, read: read, names: names, log: log, checked: time.Now()}
	f.stamp = f.stampOf()
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
	stamp := f.stampOf()
	if stamp == f.stamp {
		return f.current
	}
	next, err := f.read()
	if err != nil {
		f.log.Warn("read a changed file; the last content stays in use", "what", f.what, "files", f.names,
			"err", err)
		return f.current
	}
	f.current, f.stamp = next, stamp
	f.log.Info("a file was read again", "what", f.what, "files", f.names)
	return f.current
}

// stampOf returns a text that changes if one of the files does.
func (f *Files[T]) stampOf() (stamp string) {
	for _, name := range f.names {
		if info, err := os.Stat(name); err == nil {
			stamp += fmt.Sprintf("%d %d;", info.ModTime().UnixNano(), info.Size())
		}
	}
	return stamp
}
