package testenv

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// FillDisk fills the disk of a folder. It returns a function that frees the space again. Use it on a [SmallDisk] only.
func FillDisk(t T, dir string) (free func()) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "full"))
	for block := make([]byte, 4<<10); err == nil; {
		_, err = file.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("testenv: fill the disk: %v", err)
	}
	return func() {
		t.Helper()
		if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
			t.Fatalf("testenv: free the disk: %v", err)
		}
	}
}
