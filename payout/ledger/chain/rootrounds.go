package chain

import (
	"context"
	"log/slog"
	"time"

	"redrain/internal/outage"
	"redrain/internal/rounds"
)

// rootEvery is how often a node looks whether a day has ended.
const rootEvery = time.Minute

// RootRounds takes the roots of the days and tells them to the log and to a file, where the database's owner cannot
// change them.
type RootRounds struct {
	roots *Roots
	file  *rootFile // nil: none
	guard *rounds.Guard
	log   *slog.Logger

	taking, writing outage.Outage
}

// NewRootRounds makes rounds that append to the file at path, or to none where it is "". A nil guard catches panics and
// tells only the log of its own.
func NewRootRounds(roots *Roots, path string, guard *rounds.Guard, log *slog.Logger) *RootRounds {
	r := &RootRounds{roots: roots, guard: guard, log: log,
		taking:  outage.Outage{What: "taking the root of the audit chains", Log: log},
		writing: outage.Outage{What: "writing the roots of the audit chains to their file", Log: log},
	}
	if path != "" {
		r.file = &rootFile{path: path}
	}
	return r
}

// Run takes the root of each day that has ended, if no other node has, until ctx ends. The node that has taken it logs
// it. A node with a file writes all roots there, whichever node has taken them, a line of JSON each.
func (r *RootRounds) Run(ctx context.Context) error {
	for wait := time.Duration(0); rounds.Sleep(ctx, wait); wait = rootEvery {
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
		r.log.InfoContext(ctx, "the root of the audit chains", "day", taken.Day, "root", taken.Hash,
			"previous", taken.Previous, "stripes", len(taken.Stripes))
	}
	return err
}
