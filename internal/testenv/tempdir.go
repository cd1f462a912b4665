package testenv

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

const (
	rootPattern = "redrain-testenv-*"
	lockName    = "lock"
)

// rootDir is the directory of all files of this test binary. Its lock file is locked while the test binary lives, so
// that another one does not remove it.
type rootDir struct {
	within func() string // the folder that it is made in

	mu   sync.Mutex
	path string   // "" until the first use
	lock *os.File // holds the lock
}

// The two places. Servers write to memory if there is room, because dozens of them would sync each commit to one disk
// while tests wait. The data survives the kill of a server, as on a disk. Programs stay on the disk, because a hard
// link needs the same file system.
var (
	root   = rootDir{within: os.TempDir}
	memory = rootDir{within: func() string { return cmp.Or(ramDisk(), os.TempDir()) }}
)

// mkdir makes a new directory whose name begins with name.
func (r *rootDir) mkdir(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.path == "" {
		if err := r.create(); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(r.path, name+"-*")
}

// SharedDir makes a folder whose name begins with name. It is removed at the end of the test binary, not of the test.
func SharedDir(t T, name string) string {
	t.Helper()
	dir, err := root.mkdir(name)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return dir
}

func (r *rootDir) create() error {
	r.sweep()
	path, err := os.MkdirTemp(r.within(), rootPattern)
	if err != nil {
		return err
	}
	// The lock gets its name only when it is held: a sweep in between does not see it and leaves the directory alone.
	unnamed := filepath.Join(path, lockName+".new")
	lock, err := os.OpenFile(unnamed, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := tryLock(lock); err != nil {
		return errors.Join(fmt.Errorf("lock %s: %w", path, err), lock.Close())
	}
	if err := os.Rename(unnamed, filepath.Join(path, lockName)); err != nil {
		return errors.Join(err, lock.Close())
	}
	r.path, r.lock = path, lock
	return nil
}

// remove deletes the directory. The next mkdir would make a new one.
func (r *rootDir) remove() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.path == "" {
		return nil
	}
	err := errors.Join(os.RemoveAll(r.path), r.lock.Close())
	r.path, r.lock = "", nil
	return err
}

// sweep removes the directories of test binaries that were killed before they could. Faults are ignored: it is a
// courtesy to the machine, and another test binary may be sweeping the same directory.
func (r *rootDir) sweep() {
	locks, _ := filepath.Glob(filepath.Join(r.within(), rootPattern, lockName))
	for _, name := range locks {
		lock, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryLock(lock) == nil {
			_ = os.RemoveAll(filepath.Dir(name))
		}
		_ = lock.Close()
	}
}

func tryLock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
