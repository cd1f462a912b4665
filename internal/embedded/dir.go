package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Dir is the data directory of the in-process back ends. It belongs to one process at a time.
type Dir struct {
	path string
	lock *os.File
}

// ErrDirInUse means that another process uses the directory.
var ErrDirInUse = errors.New("another process is using it")

// OpenDir opens and locks the directory at path, and creates it if it is missing. The lock ends with Close, or with the
// process.
func OpenDir(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("the data directory %s: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("create the data directory %s: %w", abs, err)
	}
	//nolint:gosec // the operator chooses the path
	file, err := os.OpenFile(filepath.Join(abs, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write to the data directory %s: %w", abs, err)
	}
	if err := lock(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("the data directory %s: %w", abs, err)
	}
	return &Dir{path: abs, lock: file}, nil
}

// Path is the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// Ledger is the path of the SQL database.
func (d *Dir) Ledger() string { return filepath.Join(d.path, "ledger.db") }

// NATS is the path of the streams.
func (d *Dir) NATS() string { return filepath.Join(d.path, "nats") }

// Secret reads a secret from a file that only its owner can read. If there is none, it calls generate and keeps the
// result.
func (d *Dir) Secret(name string, generate func() string) (string, error) {
	file := filepath.Join(d.path, name)
	text, err := os.ReadFile(file) //nolint:gosec // the operator chooses the path
	if secret := strings.TrimSpace(string(text)); err == nil && secret != "" {
		return secret, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read a secret in the data directory: %w", err)
	}
	secret := generate()
	if err := writeAtomic(file, secret+"\n"); err != nil {
		return "", fmt.Errorf("store a secret in the data directory: %w", err)
	}
	return secret, nil
}

// writeAtomic writes a file so that after a crash it is either complete or absent.
func writeAtomic(name, text string) error {
	//nolint:gosec // the operator chooses the path
	draft, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = draft.WriteString(text)
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// Close unlocks the directory.
func (d *Dir) Close() error { return d.lock.Close() }
