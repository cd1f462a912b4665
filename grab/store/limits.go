package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// errAllow refuses an invalid limit.
var errAllow = errors.New("invalid limit: want a rate above 0 and a burst of at least 1")

// Limits are token buckets that all nodes share.
type Limits struct{ *client }

// NewLimits returns a Limits.
func NewLimits(s *Store) *Limits { return &Limits{s.client} }

// Allow takes one token from a bucket that all nodes share. The rate is tokens per second, burst the size of the
// bucket. The limit's name is name; key is its subject, such as an address. If the bucket is empty, Allow returns the
// time to wait.
func (l *Limits) Allow(ctx context.Context, name, key string, rate, burst float64) (bool, time.Duration, error) {
	answer, err := l.bucket(ctx, name, key, rate, burst, 1)
	if err != nil {
		return false, 0, err
	}
	return answer[0] == 1, time.Duration(answer[1]) * time.Millisecond, nil
}

// Left returns the number of tokens in a bucket of Allow, rounded down, and takes none.
func (l *Limits) Left(ctx context.Context, name, key string, rate, burst float64) (int64, error) {
	answer, err := l.bucket(ctx, name, key, rate, burst, 0)
	if err != nil {
		return 0, err
	}
	return answer[2], nil
}

// bucket runs the script for a number of tokens.
func (l *Limits) bucket(ctx context.Context, name, key string, rate, burst float64, tokens int) ([]int64, error) {
	if !(rate > 0 && burst >= 1) {
		return nil, fmt.Errorf("limit %s: %w", name, errAllow)
	}
	answer, err := l.run(ctx, l.scripts.allow, []string{l.keys.bucket(name, key)}, decimal(rate), decimal(burst),
		tokens).Int64Slice()
	if err == nil && len(answer) != 3 {
		err = errReply
	}
	if err != nil {
		return nil, fmt.Errorf("limit %s: %w", name, err)
	}
	return answer, nil
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
