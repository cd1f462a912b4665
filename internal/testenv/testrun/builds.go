package testrun

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// BuildDir returns a folder for what the tests of a checkout build. It stays between runs, so that the go command links
// only what has changed. The folders of checkouts that have run no tests for a week are removed.
func BuildDir(checkout string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	all := filepath.Join(cache, "redrain-tests")
	old, _ := os.ReadDir(all)
	for _, d := range old {
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > 7*24*time.Hour {
			_ = os.RemoveAll(filepath.Join(all, d.Name())) // another run may do the same
		}
	}
	dir := filepath.Join(all, fmt.Sprintf("%x", sha256.Sum256([]byte(checkout)))[:12])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	now := time.Now()
	return dir, os.Chtimes(dir, now, now)
}
