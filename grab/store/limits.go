package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
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
	return answer[0] == 1, time.Duration(answer[1]) * time.Millisecond, err
}

// Left returns the number of tokens in a bucket of Allow, rounded down, and takes none.
func (l *Limits) Left(ctx context.Context, name, key string, rate, burst float64) (int64, error) {
	answer, err := l.bucket(ctx, name, key, rate, burst, 0)
	return answer[2], err
}

// bucket runs the script for a number of tokens.
func (l *Limits) bucket(ctx context.Context, name, key string, rate, burst float64, tokens int) ([]int64, error) {
	if !(rate > 0 && burst >= 1) {
		return make([]int64, 3), fmt.Errorf("limit %s: %w", name, errAllow)
	}
	answer, err := l.numbers(ctx, 3, "allow", []string{l.keys.bucket(name, key)}, decimal(rate), decimal(burst), tokens)
	return answer, wrap(err, "limit %s", name)
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Logins stores the values for which players' login codes are exchanged. They are sealed, so that this package and
// Redis cannot read them.
type Logins struct{ *client }

// NewLogins returns a Logins.
func NewLogins(s *Store) *Logins { return &Logins{s.client} }

// Keep stores a value under a name for a time.
func (l *Logins) Keep(ctx context.Context, name string, value []byte, life time.Duration) error {
	return wrap(l.Checked(l.rdb.Set(ctx, l.keys.login(name), value, life).Err()), "store a login")
}

// Take returns the value and removes it in one step, so that only one caller gets it. Nil: there is none, or it has
// expired.
func (l *Logins) Take(ctx context.Context, name string) ([]byte, error) {
	value, err := l.rdb.GetDel(ctx, l.keys.login(name)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return value, wrap(l.Checked(err), "take a login")
}

// Tickets shares the tickets of WeChat apps between the nodes. They expire within hours, and are good only for pages of
// the domains that the app's owner has named, so they are not sealed.
type Tickets struct{ *client }

// NewTickets returns a Tickets.
func NewTickets(s *Store) *Tickets { return &Tickets{s.client} }

// Put stores an app's ticket for its life.
func (t *Tickets) Put(ctx context.Context, app, ticket string, life time.Duration) error {
	return wrap(t.Checked(t.rdb.Set(ctx, t.keys.ticket(app), ticket, life).Err()), "store a ticket")
}

// Ticket returns an app's ticket and the rest of its life; "" if there is none.
func (t *Tickets) Ticket(ctx context.Context, app string) (ticket string, left time.Duration, err error) {
	var life *redis.DurationCmd
	var text *redis.StringCmd
	_, err = t.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		life, text = p.PTTL(ctx, t.keys.ticket(app)), p.Get(ctx, t.keys.ticket(app))
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", 0, wrap(t.Checked(err), "read a ticket")
	}
	return text.Val(), max(0, life.Val()), nil
}
