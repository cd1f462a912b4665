package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// errAllow is a limit that makes no sense.
var errAllow = errors.New("a limit has a rate above 0 and a burst of at least 1")

// Limits are token buckets that all nodes share.
type Limits struct{ *client }

// NewLimits makes a Limits.
func NewLimits(s *Store) *Limits { return &Limits{s.client} }

// Allow takes one token from a bucket that all nodes share, into which rate tokens flow per second and which holds
// burst of them. name says what is limited, key for whom: an address, say. Where nothing is left it tells how long
// to wait.
func (l *Limits) Allow(ctx context.Context, name, key string, rate, burst float64) (bool, time.Duration, error) {
	answer, err := l.bucket(ctx, name, key, rate, burst, 1)
	if err != nil {
		return false, 0, err
	}
	return answer[0] == 1, time.Duration(answer[1]) * time.Millisecond, nil
}

// Left tells how many whole tokens a bucket of Allow holds, and takes none.
func (l *Limits) Left(ctx context.Context, name, key string, rate, burst float64) (int64, error) {
	answer, err := l.bucket(ctx, name, key, rate, burst, 0)
	if err != nil {
		return 0, err
	}
	return answer[2], nil
}

// bucket runs the script for so many tokens.
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
