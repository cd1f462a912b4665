package chain

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxRoot is how long a line of a file of roots may be: longer than any root.
const maxRoot = 4 << 20

// ReadRoots reads roots, a line of JSON each, as a file of roots has them, or GET /api/v1/audit/roots one by one.
func ReadRoots(from io.Reader) (roots []Root, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxRoot)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var root Root
		if err := json.Unmarshal(lines.Bytes(), &root); err != nil {
			return nil, fmt.Errorf("line %d is no root: %w", n, err)
		}
		roots = append(roots, root)
	}
	return roots, lines.Err()
}

// rootFile is a file that roots are appended to.
type rootFile struct {
	path string
	last string // the day of its last root
	read bool   // last is known
}

// catchUp writes the roots that the file does not have yet behind its others. A file that is put aside is begun anew
// with the next root.
func (f *rootFile) catchUp(ctx context.Context, from *Roots) error {
	if err := f.open(); err != nil {
		return err
	}
	fresh, err := rootTable.List(ctx, from.db, "WHERE day > ? ORDER BY day", f.last)
	if err != nil || len(fresh) == 0 {
		return err
	}
	var lines bytes.Buffer
	to := json.NewEncoder(&lines)
	for _, root := range fresh {
		if err := to.Encode(root); err != nil {
			return err
		}
	}
	if err := f.append(lines.Bytes()); err != nil {
		f.read = false // some of it may have been written
		return err
	}
	f.last = fresh[len(fresh)-1].Day
	return nil
}

// open finds out what the file has.
func (f *rootFile) open() error {
	if f.read {
		return nil
	}
	text, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.read, f.last = true, ""
		return nil
	}
	if err != nil {
		return err
	}
	roots, err := ReadRoots(text)
	if err := errors.Join(err, text.Close()); err != nil {
		return fmt.Errorf("%s: %w; a line that was cut off may be removed", f.path, err)
	}
	f.read, f.last = true, ""
	if len(roots) > 0 {
		f.last = roots[len(roots)-1].Day
	}
	return nil
}

// append adds lines in one write, and returns when they are on the disk.
func (f *rootFile) append(lines []byte) (err error) {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(lines); err != nil {
		return err
	}
	return file.Sync()
}
