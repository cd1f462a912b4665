package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"redrain/internal/loop"
)

// ReadRoots reads roots, one JSON object a line, from a file of roots or from responses of GET /api/v1/audit/roots.
func ReadRoots(text []byte) (roots []Root, err error) {
	for from := json.NewDecoder(bytes.NewReader(text)); from.More(); {
		var root Root
		if err := from.Decode(&root); err != nil {
			return nil, fmt.Errorf("line %d: invalid root: %w", len(roots)+1, err)
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// appendRoots appends the roots that a file does not have. It makes a missing file.
func (r *RootRounds) appendRoots(ctx context.Context) error {
	text, err := os.ReadFile(r.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	kept, err := ReadRoots(text)
	if err != nil {
		return fmt.Errorf("%s: %w; a partial last line may be removed", r.path, err)
	}
	last := ""
	if len(kept) > 0 {
		last = kept[len(kept)-1].Day
	}
	fresh, err := rootTable.List(ctx, r.roots.db, "WHERE day > ? ORDER BY day", last)
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
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(lines.Bytes())
	return errors.Join(err, file.Sync(), file.Close())
}

const (
	// rootEvery is the interval at which a node hashes new rows and checks whether a day has ended.
	rootEvery = time.Minute
	// commitGrace is a time after which no transaction can commit a row with a lower id than one that was seen. A
	// transaction of the ledger ends within seconds.
	commitGrace = time.Minute
)

// RootRounds hashes rows into blocks, takes the daily roots, and writes them to the log and a file, which the
// database's owner cannot change. Every node may run it.
type RootRounds struct {
	roots     *Roots
	path      string // of the file; "" = none
	recoverer *loop.Recoverer
	log       *slog.Logger

	seen   []Head // at the time at
	at     time.Time
	hashed time.Time // all rows committed until then are in blocks; zero: not known
}

// NewRootRounds makes rounds that append to the file at path, or to no file if path is "". If recoverer is nil,
// panics are only logged.
func NewRootRounds(roots *Roots, path string, recoverer *loop.Recoverer, log *slog.Logger) *RootRounds {
	return &RootRounds{roots: roots, path: path, recoverer: recoverer, log: log}
}

// Run hashes new rows each minute until ctx ends. Once all rows of an ended day are in blocks, one node takes the
// root of the day and logs it. Each node with a file appends all roots to it, one JSON object a line.
func (r *RootRounds) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "roots", Work: "hash rows and take the root of the day", Every: rootEvery,
		Recoverer: r.recoverer, Log: r.log, Do: r.round})
}

func (r *RootRounds) round(ctx context.Context) error {
	err := r.Hash(ctx, time.Now())
	now := r.roots.clock()
	if err == nil && !r.hashed.IsZero() && now-time.Since(r.hashed).Milliseconds() >= dayEnd(now).UnixMilli() {
		var taken *Root
		if taken, err = r.roots.Take(ctx); taken != nil {
			r.log.InfoContext(ctx, "the root of the day", "day", taken.Day, "root", taken.Hash,
				"previous", taken.Previous, "blocks", len(taken.Blocks))
		}
	}
	if r.path != "" {
		err = errors.Join(err, r.appendRoots(ctx))
	}
	return err
}

// Hash hashes the rows up to the ids that an earlier call saw at least a minute ago: transactions with lower ids have
// ended.
func (r *RootRounds) Hash(ctx context.Context, now time.Time) error {
	if !r.at.IsZero() && now.Sub(r.at) < commitGrace {
		return nil
	}
	for _, head := range r.seen {
		if err := makeBlocks(ctx, r.roots.db, head.Book, head.ID); err != nil {
			return err
		}
	}
	seen, err := r.roots.Heads(ctx)
	if err == nil {
		r.seen, r.at, r.hashed = seen, now, r.at
	}
	return err
}
