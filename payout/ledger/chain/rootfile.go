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

// maxRoot is the length limit of a line in a file of roots. Every root is shorter.
const maxRoot = 4 << 20

// ReadRoots reads roots, one JSON object a line, from a file of roots or from responses of GET /api/v1/audit/roots.
func ReadRoots(from io.Reader) (roots []Root, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxRoot)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var root Root
		if err := json.Unmarshal(lines.Bytes(), &root); err != nil {
			return nil, fmt.Errorf("line %d: invalid root: %w", n, err)
		}
		roots = append(roots, root)
	}
	return roots, lines.Err()
}

// rootFile is a file that roots are appended to.
type rootFile struct {
	path string
	last string // of its last root
	read bool   // last is known
}

// catchUp appends the roots that the file does not have. If the file was moved away, the next root begins a new one.
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
		f.read = false // the write may be partial
		return err
	}
	f.last = fresh[len(fresh)-1].Day
	return nil
}

// open reads the present end of the file.
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
		return fmt.Errorf("%s: %w; a partial last line may be removed", f.path, err)
	}
	f.read, f.last = true, ""
	if len(roots) > 0 {
		f.last = roots[len(roots)-1].Day
	}
	return nil
}

// append adds lines in one write and syncs them to the disk.
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

// rootEvery is the interval at which a node hashes new rows and checks whether a day has ended.
const rootEvery = time.Minute

// RootRounds hashes rows into blocks, takes the daily roots, and writes them to the log and a file, which the
// database's owner cannot change.
type RootRounds struct {
	roots     *Roots
	hash      *Hasher
	file      *rootFile // nil: none
	recoverer *loop.Recoverer
	log       *slog.Logger
}

// NewRootRounds makes rounds that append to the file at path, or to no file if path is "". If recoverer is nil,
// panics are only logged.
func NewRootRounds(roots *Roots, path string, recoverer *loop.Recoverer, log *slog.Logger) *RootRounds {
	r := &RootRounds{roots: roots, hash: NewHasher(roots.db), recoverer: recoverer, log: log}
	if path != "" {
		r.file = &rootFile{path: path}
	}
	return r
}

// Run hashes new rows each minute until ctx ends. Once all rows of an ended day are in blocks, one node takes the
// root of the day and logs it. Each node with a file appends all roots to it, one JSON object a line.
func (r *RootRounds) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "roots", Work: "hash rows and take the root of the day", Every: rootEvery,
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
