package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Dir is a directory in which the stand-ins keep on disk what they store. It belongs to one process at a time.
type Dir struct {
	path string
	lock *os.File
}

// ErrDirInUse says that another process keeps its data in the directory.
var ErrDirInUse = errors.New("another process is using it")

// OpenDir opens the directory at path, making it where it is missing, and locks it. The lock ends with Close, or
// with the process, however that ends.
func OpenDir(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("the data directory %s: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be made: %w", abs, err)
	}
	file, err := os.OpenFile(filepath.Join(abs, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator says where
	if err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written to: %w", abs, err)
	}
	if err := lock(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("the data directory %s: %w", abs, err)
	}
	return &Dir{path: abs, lock: file}, nil
}

// Path is where it is.
func (d *Dir) Path() string { return d.path }

// Ledger is where the SQL database is.
func (d *Dir) Ledger() string { return filepath.Join(d.path, "ledger.db") }

// NATS is where the streams are.
func (d *Dir) NATS() string { return filepath.Join(d.path, "nats") }

// Secret is the text of a file in the directory that only its owner can read. Where there is none it is made once with
// generate and kept.
func (d *Dir) Secret(name string, generate func() string) (string, error) {
	file := filepath.Join(d.path, name)
	text, err := os.ReadFile(file) //nolint:gosec // the operator says where
	if secret := strings.TrimSpace(string(text)); err == nil && secret != "" {
		return secret, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("a secret in the data directory: %w", err)
	}
	secret := generate()
	if err := writeWhole(file, secret+"\n"); err != nil {
		return "", fmt.Errorf("a secret for the data directory: %w", err)
	}
	return secret, nil
}

// writeWhole writes a file so that after a crash it is there whole or not at all.
func writeWhole(name, text string) error {
	draft, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the operator says where
	if err != nil {
		return err
	}
	_, err = draft.WriteString(text)
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// Close gives the directory free.
func (d *Dir) Close() error { return d.lock.Close() }
