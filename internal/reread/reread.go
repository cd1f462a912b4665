// Package reread keeps what is read from files that their owner may replace while the process runs: a certificate, a
// list of operators.
package reread

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// checkEvery is how often the files are looked at, at most.
const checkEvery = 5 * time.Second

// Files are read once at the start, and again when one of them has changed. They are looked at when somebody asks, so
// that what is new is in use within seconds, and nothing runs in between.
type Files[T any] struct {
	what  string // is read, in words for the log
	read  func() (T, error)
	names []string
	log   *slog.Logger

	mu      sync.Mutex
	current T
	stamp   string // of the files, as they were when they were read last
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

// Newest is what could be read last. Files that cannot be read, as while they are being replaced, are logged, and
// looked at again.
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
		f.log.Warn("what is new in a file cannot be used; the old is used on", "what", f.what, "files", f.names,
			"err", err)
		return f.current
	}
	f.current, f.stamp = next, stamp
	f.log.Info("a file was read again", "what", f.what, "files", f.names)
	return f.current
}

// stampOf changes when one of the files does.
func (f *Files[T]) stampOf() (stamp string) {
	for _, name := range f.names {
		if info, err := os.Stat(name); err == nil {
			stamp += fmt.Sprintf("%d %d;", info.ModTime().UnixNano(), info.Size())
		}
	}
	return stamp
}
