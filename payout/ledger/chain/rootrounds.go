package chain

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"redrain/internal/loop"
)

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
