package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Logins keep what players' login codes are exchanged for. It is sealed, so that this package and Redis cannot read it.
type Logins struct{ *client }

// NewLogins makes a Logins.
func NewLogins(s *Store) *Logins { return &Logins{s.client} }

// Keep keeps a value under a name for so long.
func (l *Logins) Keep(ctx context.Context, name string, value []byte, life time.Duration) error {
	if err := l.checked(l.rdb.Set(ctx, l.keys.login(name), value, life).Err()); err != nil {
		return fmt.Errorf("keeping a login: %w", err)
	}
	return nil
}

// Take returns the value and removes it in one step, so that one alone gets it. Nil: there is none, or none any more.
func (l *Logins) Take(ctx context.Context, name string) ([]byte, error) {
	value, err := l.rdb.GetDel(ctx, l.keys.login(name)).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case l.checked(err) != nil:
		return nil, fmt.Errorf("taking a login: %w", err)
	}
	return value, nil
}
