package embedded_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redrain/internal/embedded"
	"redrain/internal/testenv"
)

func openDir(t *testing.T, path string) *embedded.Dir {
	t.Helper()
	d, err := embedded.OpenDir(path)
	testenv.Must(t, err)
	return d
}

func TestADirectoryBelongsToOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := openDir(t, path)
	if _, err := embedded.OpenDir(path); !errors.Is(err, embedded.ErrDirInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second time: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	d = openDir(t, path)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestADirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if _, err := embedded.OpenDir(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSecretsStay(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path)
	made := 0
	generate := func() string { made++; return strings.Repeat("x", made) }
	for range 2 {
		for range 2 {
			if got, err := d.Secret("token", generate); got != "x" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		d = openDir(t, path)
	}
	defer func() { _ = d.Close() }()
	if info, err := os.Stat(filepath.Join(path, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got, err := d.Secret("other", generate); got != "xx" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	testenv.Must(t, os.Mkdir(filepath.Join(path, "folder"), 0o700))
	if _, err := d.Secret("folder", generate); err == nil {
		t.Error("a folder is no secret")
	}
}
