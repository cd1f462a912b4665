package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Logins stores the values for which players' login codes are exchanged. They are sealed, so that this package and
// Redis cannot read them.
type Logins struct{ *client }

// NewLogins returns a Logins.
func NewLogins(s *Store) *Logins { return &Logins{s.client} }

// Keep stores a value under a name for a time.
func (l *Logins) Keep(ctx context.Context, name string, value []byte, life time.Duration) error {
	if err := l.checked(l.rdb.Set(ctx, l.keys.login(name), value, life).Err()); err != nil {
		return fmt.Errorf("store a login: %w", err)
	}
	return nil
}

// Take returns the value and removes it in one step, so that only one caller gets it. Nil: there is none, or it has
// expired.
func (l *Logins) Take(ctx context.Context, name string) ([]byte, error) {
	value, err := l.rdb.GetDel(ctx, l.keys.login(name)).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case l.checked(err) != nil:
		return nil, fmt.Errorf("take a login: %w", err)
	}
	return value, nil
}
