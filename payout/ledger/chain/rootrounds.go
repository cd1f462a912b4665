package chain

import (
	"context"
	"log/slog"
	"time"

	"redrain/internal/outage"
	"redrain/internal/rounds"
)

// rootEvery is how often a node hashes new rows, and checks whether a day has ended.
const rootEvery = time.Minute

// RootRounds hashes rows into blocks, takes the roots of the days, and writes these to the log and to a file, where the
// database's owner cannot change them.
type RootRounds struct {
	roots *Roots
	hash  *Hasher
	file  *rootFile // nil: none
	guard *rounds.Guard
	log   *slog.Logger

	hashing, taking, writing outage.Outage
}

// NewRootRounds makes rounds that append to the file at path, or to none where it is "". A nil guard catches panics and
// tells only the log of its own.
func NewRootRounds(roots *Roots, path string, guard *rounds.Guard, log *slog.Logger) *RootRounds {
	r := &RootRounds{roots: roots, hash: NewHasher(roots.db), guard: guard, log: log,
		hashing: outage.Outage{What: "hashing rows into blocks", Log: log},
		taking:  outage.Outage{What: "taking the root of the day", Log: log},
		writing: outage.Outage{What: "writing the roots to their file", Log: log},
	}
	if path != "" {
		r.file = &rootFile{path: path}
	}
	return r
}

// Run hashes new rows each minute, and takes the root of each day that has ended, if no other node has, until ctx ends.
// The node that has taken it logs it. A node with a file writes all roots there, whichever node has taken them, a line
// of JSON each.
func (r *RootRounds) Run(ctx context.Context) error {
	for wait := time.Duration(0); rounds.Sleep(ctx, wait); wait = rootEvery {
		r.hashing.Ended(ctx, r.guard.Try("blocks", func() error { return r.hash.Round(ctx, time.Now()) }))
		r.taking.Ended(ctx, r.guard.Try("roots", func() error { return r.take(ctx) }))
		if r.file != nil {
			r.writing.Ended(ctx, r.guard.Try("roots", func() error { return r.file.catchUp(ctx, r.roots) }))
		}
	}
	return nil
}

func (r *RootRounds) take(ctx context.Context) error {
	taken, err := r.roots.Take(ctx)
	if taken != nil {
		r.log.InfoContext(ctx, "the root of the day", "day", taken.Day, "root", taken.Hash,
			"previous", taken.Previous, "blocks", len(taken.Blocks))
	}
	return err
}
