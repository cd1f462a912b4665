package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// namedFor is how long a player's name is kept after it was told: a board is looked at for an evening.
const namedFor = 24 * time.Hour

// Named is how a player wants to be shown. It is shown as whoever reads it allows, and proves nothing.
type Named struct {
	User   string `json:"-"`
	Name   string `json:"name,omitempty"`
	Avatar string `json:"avatar,omitempty"` // address of a picture
}

// Names are how players are shown, of those who were to be shown lately.
type Names struct{ *client }

// NewNames makes a Names.
func NewNames(s *Store) *Names { return &Names{s.client} }

// Tell notes names. It can be told again.
func (n *Names) Tell(ctx context.Context, named []Named) error {
	_, err := n.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, one := range named {
			text, err := json.Marshal(one)
			if err != nil {
				return err
			}
			p.Set(ctx, n.keys.name(one.User), text, namedFor)
		}
		return nil
	})
	if n.checked(err) != nil {
		return fmt.Errorf("telling players' names: %w", err)
	}
	return nil
}

// Read are the names of some players, as far as they are known.
func (n *Names) Read(ctx context.Context, users []string) ([]Named, error) {
	if len(users) == 0 {
		return nil, nil
	}
	texts := make([]*redis.StringCmd, len(users))
	_, err := n.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, user := range users {
			texts[i] = p.Get(ctx, n.keys.name(user))
		}
		return nil
	})
	if !errors.Is(err, redis.Nil) && n.checked(err) != nil {
		return nil, fmt.Errorf("reading players' names: %w", err)
	}
	var known []Named
	for i, text := range texts {
		if errors.Is(text.Err(), redis.Nil) {
			continue
		}
		if err := text.Err(); err != nil {
			return nil, fmt.Errorf("reading players' names: %w", err)
		}
		one := Named{User: users[i]}
		if json.Unmarshal([]byte(text.Val()), &one) == nil { // what is none is told again
			known = append(known, one)
		}
	}
	return known, nil
}
