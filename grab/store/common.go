package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// commonFor is for how long a player counts among those who have something in common, without any word of it.
	commonFor = time.Hour
	// handsFor is how long is remembered how a player has tapped on a node, without any word of it.
	handsFor = 2 * time.Minute
	// commonAtOnce is how much is told in one go.
	commonAtOnce = 200
)

// Trait is something that a player may have in common with others, on any node.
type Trait struct {
	Kind  string // a plain word
	Value string
	User  string // "": it is only asked how many have it
	Gone  bool   // the player has it no longer
}

// Common is what players of all nodes have in common, and how those tap who are on several. Who plays alone costs it
// nothing.
type Common struct{ *client }

// NewCommon makes a Common.
func NewCommon(s *Store) *Common { return &Common{s.client} }

// Tell notes what players have, and returns for each trait how many have the same, the player included. It can be
// told again, and what Redis has lost is known again when it is. With an error it returns the counts of the first ones,
// which Redis was told of before.
func (c *Common) Tell(ctx context.Context, traits []Trait) (having []int, err error) {
	now := c.clock()
	before := strconv.FormatInt(now-commonFor.Milliseconds(), 10)
	for some := range slices.Chunk(traits, commonAtOnce) {
		counts := make([]*redis.IntCmd, len(some))
		_, err := c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, t := range some {
				key := c.keys.common(t.Kind, t.Value)
				switch {
				case t.User == "":
					counts[i] = p.ZCount(ctx, key, "("+before, "+inf")
					continue
				case t.Gone:
					p.ZRem(ctx, key, t.User)
				default:
					p.ZAdd(ctx, key, redis.Z{Score: float64(now), Member: t.User})
				}
				p.ZRemRangeByScore(ctx, key, "-inf", before)
				p.PExpire(ctx, key, commonFor)
				counts[i] = p.ZCard(ctx, key)
			}
			return nil
		})
		if c.checked(err) != nil {
			return having, fmt.Errorf("telling what players have in common: %w", err)
		}
		for _, n := range counts {
			having = append(having, int(n.Val()))
		}
	}
	return having, nil
}

// Hands notes how players have tapped on a node, and returns what the other nodes have noted of them, by player. What
// they say is the writer's, and is not looked at. With an error it returns what it has read before.
func (c *Common) Hands(ctx context.Context, node string, own map[string]string) (others map[string][]string,
	err error) {
	others = map[string][]string{}
	users := make([]string, 0, len(own))
	for user := range own {
		users = append(users, user)
	}
	for some := range slices.Chunk(users, commonAtOnce) {
		read := make([]*redis.MapStringStringCmd, len(some))
		_, err := c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, user := range some {
				key := c.keys.hands(user)
				p.HSet(ctx, key, node, own[user])
				p.PExpire(ctx, key, handsFor)
				read[i] = p.HGetAll(ctx, key)
			}
			return nil
		})
		if c.checked(err) != nil {
			return others, fmt.Errorf("telling how players tap: %w", err)
		}
		for i, user := range some {
			for from, text := range read[i].Val() {
				if from != node {
					others[user] = append(others[user], text)
				}
			}
		}
	}
	return others, nil
}
