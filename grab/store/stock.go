package store

import (
	"context"
	"errors"
	"fmt"

	"redrain/rain"
)

const (
	// closesAfterMS is how long the script goes on taking taps after the nodes have stopped, as their clocks differ.
	closesAfterMS = 500
	// reclaimedAtOnce is how many ranges of stock one call of close.lua gives back.
	reclaimedAtOnce = 500
)

// Stock is what a campaign has to give away, shard by shard: it is brought in, put on offer, and closed.
type Stock struct{ *client }

// NewStock makes a Stock.
func NewStock(s *Store) *Stock { return &Stock{s.client} }

// Open stocks the campaign and opens it: every shard gets its part of the packets. It may be repeated after a crash at
// any point, and run on several nodes at once; a shard that is open already is left alone. Without a rain, which Apply
// brings, no tap counts. What has not reached Redis until a time, Unix ms on the cluster's clock, comes too late: the
// shard may have been opened by others, played, and lost.
//
// It fails with ErrClosed where a shard is closed, and with ErrLate.
func (s *Stock) Open(ctx context.Context, c *rain.Campaign, until int64) error {
	err := eachShard(ctx, c, func(ctx context.Context, shard int) error {
		all := c.Layout().Stock(shard)
		code, err := s.run(ctx, s.scripts.open, s.keys.shard(c.ID, shard).opening(), until, c.Revision, all.String(),
			all.Count(), c.WinsPerUser, c.TapsPerUser).Int()
		if err == nil && code < 0 {
			err = fmt.Errorf("shard %d: %w", shard, ErrClosed)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("stocking campaign %s: %w", c.ID, err)
	}
	return nil
}

// Apply brings every shard up to the campaign's version: whether it is paused, and the rain in which taps count. An
// older version than the one in force changes nothing, and nothing opens a closed shard again. A closed campaign is
// closed as by CloseCampaign; one that is still loading has nothing to apply.
//
// It fails with ErrNoState where a shard has not been opened, or Redis has lost it; the others are brought up all the
// same.
func (s *Stock) Apply(ctx context.Context, c *rain.Campaign) error {
	switch c.Status {
	case rain.Loading:
		return nil
	case rain.Closed:
		return s.CloseCampaign(ctx, c)
	}
	update := append([]any{fieldRevision, c.Revision, "update", 0, fieldStatus, string(c.Status)},
		rainFields(c.Current())...)
	errs := make([]error, Shards(c)) // one that is away holds up no other
	_ = eachShard(ctx, c, func(ctx context.Context, shard int) error {
		code, err := s.run(ctx, s.scripts.newer, []string{s.keys.shard(c.ID, shard).State}, update...).Int()
		if err == nil && code < 0 {
			err = fmt.Errorf("shard %d: %w", shard, ErrNoState)
		}
		errs[shard] = err
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("applying revision %d of campaign %s: %w", c.Revision, c.ID, err)
	}
	return nil
}

// rainFields are the fields of the state that say when taps count. A rain that was stopped is none.
func rainFields(r *rain.Rain) []any {
	if r == nil || r.StoppedAt != 0 {
		return []any{fieldFirstWave, "", fieldOpens, 0, fieldCloses, 0, fieldPaced, 0, fieldDuration, 0, fieldBeat, 0}
	}
	paced, beat := 0, int64(0)
	if r.Pacing == rain.PacingEven {
		paced = 1
	}
	if r.Draws() {
		beat = r.BeatMS
	}
	return []any{
		fieldFirstWave, r.FirstWave, fieldOpens, r.StartsAt, fieldCloses, r.TapsUntil() + closesAfterMS,
		fieldPaced, paced, fieldDuration, r.DurationMS, fieldBeat, beat,
	}
}

// CloseCampaign shuts every shard for good; what is left of its stock goes to the outbox as reclaims, each packet once.
// Closing what is closed changes nothing.
//
// It fails with ErrNoState where Redis knows nothing of a shard; the others are closed all the same.
func (s *Stock) CloseCampaign(ctx context.Context, c *rain.Campaign) error {
	errs := make([]error, Shards(c))
	_ = eachShard(ctx, c, func(ctx context.Context, shard int) error {
		if err := s.closeShard(ctx, c.ID, shard); err != nil {
			errs[shard] = fmt.Errorf("closing shard %d of campaign %s: %w", shard, c.ID, err)
		}
		return nil
	})
	return errors.Join(errs...)
}

func (s *Stock) closeShard(ctx context.Context, campaign string, shard int) error {
	k := s.keys.shard(campaign, shard)
	for {
		at := s.clock()
		left, err := s.run(ctx, s.scripts.close, []string{k.State, k.Stock, k.Outbox}, reclaimedAtOnce, at,
			s.ring.Closing(campaign, shard, at)).Int()
		if err != nil || left == 0 {
			return err
		}
	}
}
