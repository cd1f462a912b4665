package store

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// What the tests outside the package look at of its inside.
const (
	ChunkPackets      = chunkPackets
	RestoredAtOnce    = restoredAtOnce
	ForgetReportAfter = forgetReportAfter
	TopKept           = topKept
)

var ErrRestoration = errRestoration

func (s *Store) BucketKey(name, key string) string { return s.keys.bucket(name, key) }
func (s *Store) NodesKey(campaign string) string   { return s.keys.nodes(campaign) }

// LoadPackets is the step of open.lua that brings packets in, as it is.
func (s *Store) LoadPackets(ctx context.Context, k Keys, args ...any) error {
	return s.scripts.open.Run(ctx, s.rdb, k.loading(), append([]any{"load"}, args...)...).Err()
}

// Holding is what a player's own field of the wins hash holds.
func Holding(user, text string) (blocks, wins int, records []Record, err error) {
	h, err := parseHolding(user, text)
	return h.blocks, h.wins, h.records, err
}

// EnterNow puts players on a shard's board.
func (r *Ranking) EnterNow(ctx context.Context, k Keys, players []redis.Z) error {
	return r.enterNow(ctx, k, players)
}
