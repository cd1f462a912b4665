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
	"log/slog"
	"os"
	"time"

	"redrain/internal/loop"
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

// rootEvery is how often a node hashes new rows, and checks whether a day has ended.
const rootEvery = time.Minute

// RootRounds hashes rows into blocks, takes the roots of the days, and writes these to the log and to a file, where the
// database's owner cannot change them.
type RootRounds struct {
	roots     *Roots
	hash      *Hasher
	file      *rootFile // nil: none
	recoverer *loop.Recoverer
	log       *slog.Logger
}

// NewRootRounds makes rounds that append to the file at path, or to none where it is "". A nil recoverer catches panics
// and only logs them.
func NewRootRounds(roots *Roots, path string, recoverer *loop.Recoverer, log *slog.Logger) *RootRounds {
	r := &RootRounds{roots: roots, hash: NewHasher(roots.db), recoverer: recoverer, log: log}
	if path != "" {
		r.file = &rootFile{path: path}
	}
	return r
}

// Run hashes new rows each minute, and takes the root of each day that has ended, once all rows of the day are in
// blocks and if no other node has, until ctx ends.
// The node that has taken it logs it. A node with a file writes all roots there, whichever node has taken them, a line
// of JSON each.
func (r *RootRounds) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "roots", Work: "hashing rows and taking the root of the day", Every: rootEvery,
		Recoverer: r.recoverer, Log: r.log, Do: r.round})
}

func (r *RootRounds) round(ctx context.Context) error {
	hashed, err := r.hash.Round(ctx, time.Now())
	if err == nil && !hashed.IsZero() && r.roots.isOver(time.Since(hashed)) {
		err = r.take(ctx)
	}
	if r.file != nil {
		err = errors.Join(err, r.file.catchUp(ctx, r.roots))
	}
	return err
}

func (r *RootRounds) take(ctx context.Context) error {
	taken, err := r.roots.Take(ctx)
	if taken != nil {
		r.log.InfoContext(ctx, "the root of the day", "day", taken.Day, "root", taken.Hash,
			"previous", taken.Previous, "blocks", len(taken.Blocks))
	}
	return err
}
