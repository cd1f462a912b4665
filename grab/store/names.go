package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// namedFor is the time for which a player's display profile is kept after its last report. A board is read for an
// evening.
const namedFor = 24 * time.Hour

// Named is a player's display profile. The reader's settings restrict its display, and it proves nothing.
type Named struct {
	User   string `json:"-"`
	Name   string `json:"name,omitempty"`
	Avatar string `json:"avatar,omitempty"` // address of a picture
}

// Names stores the recent display profiles of players.
type Names struct{ *client }

// NewNames returns a Names.
func NewNames(s *Store) *Names { return &Names{s.client} }

// Tell stores display profiles. It may be repeated.
func (n *Names) Tell(ctx context.Context, named []Named) error {
	err := n.pipelined(ctx, func(p redis.Pipeliner) {
		for _, one := range named {
			text, _ := json.Marshal(one) // texts only: it cannot fail
			p.Set(ctx, n.keys.player(one.User, "name"), text, namedFor)
		}
	})
	if err != nil {
		return fmt.Errorf("store display profiles: %w", err)
	}
	return nil
}

// Read returns the stored display profiles of some players.
func (n *Names) Read(ctx context.Context, users []string) ([]Named, error) {
	if len(users) == 0 {
		return nil, nil
	}
	texts := make([]*redis.StringCmd, len(users))
	err := n.pipelined(ctx, func(p redis.Pipeliner) {
		for i, user := range users {
			texts[i] = p.Get(ctx, n.keys.player(user, "name"))
		}
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read display profiles: %w", err)
	}
	var known []Named
	for i, text := range texts {
		if errors.Is(text.Err(), redis.Nil) {
			continue
		}
		if err := text.Err(); err != nil {
			return nil, fmt.Errorf("read display profiles: %w", err)
		}
		one := Named{User: users[i]}
		if json.Unmarshal([]byte(text.Val()), &one) == nil { // an invalid profile is reported again
			known = append(known, one)
		}
	}
	return known, nil
}
