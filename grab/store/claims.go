package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Claims holds the epoch of each shard, as the shard's master knows it. Package confirm gives it its meaning.
type Claims struct{ *client }

// NewClaims returns a Claims.
func NewClaims(s *Store) *Claims { return &Claims{s.client} }

// Claim is a shard's epoch, and the part of its state that is compared with the stream.
type Claim struct {
	Known  bool   // false if Redis has no state of the shard, or it is being restored
	Text   string // the epoch; "" for none
	Moves  int64  // moves of stock from and to the shard
	Closed bool
}

// Read puts the reading of a shard's claim into a pipeline.
func (c *Claims) Read(ctx context.Context, p redis.Pipeliner, k Keys) *redis.SliceCmd {
	return p.HMGet(ctx, k.State, fieldRevision, fieldClaim, fieldMoves, fieldStatus)
}

// ParseClaim parses the answer to Read.
func ParseClaim(answer *redis.SliceCmd) (is Claim, err error) {
	fields, err := answer.Result()
	if err != nil {
		return is, unreadable(err)
	}
	text := func(i int) (s string) { s, _ = fields[i].(string); return s }
	is = Claim{Known: fields[0] != nil, Text: text(1), Closed: text(3) == string(rain.Closed)}
	is.Moves, _ = rain.ParseInt(text(2))
	return is, nil
}

// Replace puts an epoch in the place of the one that the caller has read. It returns false if the shard has another
// one by now, and ErrNoState.
func (c *Claims) Replace(ctx context.Context, campaign string, shard int, was, now string) (done bool, err error) {
	done, err = c.run(ctx, "epoch", []string{c.keys.shard(campaign, shard).State}, was, now).Bool()
	return done, wrap(err, "set the epoch of %s.%d", campaign, shard)
}

// Lose closes a shard for taps until it is rebuilt, if it still is in the epoch that the caller has read.
func (c *Claims) Lose(ctx context.Context, campaign string, shard int, was string) error {
	done, err := c.Replace(ctx, campaign, shard, was, "")
	if err == nil && !done {
		err = fmt.Errorf("close %s.%d: %w", campaign, shard, ErrSuperseded)
	}
	return err
}
