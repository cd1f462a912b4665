//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// scope stands in for a test where testenv takes one: a part of the run that starts servers, and ends them.
type scope struct {
	ctx      context.Context //nolint:containedctx // a test has one, and this stands in for a test
	log      io.Writer
	cleanups []func()
	failed   bool
}

// stop is the value with which Fatalf and Skipf panic, to leave the part.
type stop struct{ err error }

// do runs a part, ends its processes, and returns its error.
func do(ctx context.Context, log io.Writer, part func(*scope)) (err error) {
	s := &scope{ctx: ctx, log: log}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		default:
			panic(r)
		}
	}()
	defer func() {
		for _, f := range slices.Backward(s.cleanups) {
			f()
		}
	}()
	part(s)
	return nil
}

func (s *scope) Helper() {}

func (s *scope) Context() context.Context { return s.ctx }

func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *scope) Failed() bool { return s.failed }

// Logf ignores a fault: a log that cannot be written cannot report it.
func (s *scope) Logf(format string, args ...any) { _, _ = fmt.Fprintf(s.log, format+"\n", args...) }

func (s *scope) Errorf(format string, args ...any) {
	s.failed = true
	s.Logf(format, args...)
}

func (s *scope) Fatalf(format string, args ...any) {
	s.failed = true
	panic(stop{fmt.Errorf(format, args...)})
}

func (s *scope) Skipf(format string, args ...any) { s.Fatalf(format, args...) }

// check leaves the part if there is an error, or if the run is interrupted.
func (s *scope) check(what string, err error) {
	if err == nil {
		err = s.ctx.Err()
	}
	if err != nil {
		s.Fatalf("%s: %w", what, err)
	}
}
