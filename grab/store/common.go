package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// commonFor is the time for which a player counts for a trait after the last report.
	commonFor = time.Hour
	// handsFor is the time for which a player's tap profile on a node is kept after the last report.
	handsFor = 2 * time.Minute
	// commonAtOnce is the number of traits that are reported in one call.
	commonAtOnce = 200
)

// Trait is a property that a player may share with others, on any node.
type Trait struct {
	Kind  string // a plain word
	Value string
	User  string // "": only counts the players with the trait
	Gone  bool   // the player has it no longer
}

// Common counts the players of all nodes with a common trait, and merges the tap profiles of players on several
// nodes. Players without common traits cost it nothing.
type Common struct{ *client }

// NewCommon returns a Common.
func NewCommon(s *Store) *Common { return &Common{s.client} }

// Tell records players' traits, and returns for each trait the number of players with it, the player included. It may
// be repeated, which also restores data that Redis has lost. With an error it returns the counts of the first traits,
// which Redis has recorded.
func (c *Common) Tell(ctx context.Context, traits []Trait) (having []int, err error) {
	now := c.clock()
	before := strconv.FormatInt(now-commonFor.Milliseconds(), 10)
	for some := range slices.Chunk(traits, commonAtOnce) {
		counts := make([]*redis.IntCmd, len(some))
		err := c.pipelined(ctx, func(p redis.Pipeliner) {
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
		})
		if err != nil {
			return having, fmt.Errorf("record players' traits: %w", err)
		}
		for _, n := range counts {
			having = append(having, int(n.Val()))
		}
	}
	return having, nil
}

// Hands records players' tap profiles on a node, and returns those of the other nodes, by player. This package does
// not parse the profiles. With an error it returns the profiles that were read before.
func (c *Common) Hands(ctx context.Context, node string, own map[string]string) (others map[string][]string,
	err error) {
	others = map[string][]string{}
	for some := range slices.Chunk(slices.Collect(maps.Keys(own)), commonAtOnce) {
		read := make([]*redis.MapStringStringCmd, len(some))
		err := c.pipelined(ctx, func(p redis.Pipeliner) {
			for i, user := range some {
				key := c.keys.player(user, "hands")
				p.HSet(ctx, key, node, own[user])
				p.PExpire(ctx, key, handsFor)
				read[i] = p.HGetAll(ctx, key)
			}
		})
		if err != nil {
			return others, fmt.Errorf("record tap profiles: %w", err)
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
