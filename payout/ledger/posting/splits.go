package posting

import (
	"context"
	"fmt"
	"sync"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// CampaignReader reads a campaign in a transaction; ErrUnknownCampaign where there is none.
type CampaignReader interface {
	Read(ctx context.Context, q sqldb.Querier, id string) (*rain.Campaign, error)
}

// splits remembers what the shards of campaigns were given.
type splits struct {
	campaigns CampaignReader

	mu   sync.Mutex
	sums map[string][]rain.Money // by campaign, and in it by shard
}

// splitsKept is how many campaigns' sums are remembered at most.
const splitsKept = 1000

// of is what each shard of a campaign was given. It is computed once: the split of the largest campaign
// takes a second and tens of megabytes, so one is computed at a time. They are nil where the campaign cannot be
// split.
func (s *splits) of(ctx context.Context, tx *sqldb.Tx, campaign string) ([]rain.Money, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sums, ok := s.sums[campaign]; ok {
		return sums, nil
	}
	c, err := s.campaigns.Read(ctx, tx, campaign)
	if err != nil {
		return nil, err
	}
	amounts, err := c.Cut(c.SplitSeed)
	if err != nil {
		return nil, nil // what cannot be split was never stocked: then the escrow alone is the limit
	}
	sums := make([]rain.Money, c.Shards)
	for shard := range sums {
		first, n := rain.ShardRange(c.Packets, c.Shards, shard)
		if sums[shard], err = rain.Sum(amounts[first : first+n]); err != nil {
			return nil, fmt.Errorf("campaign %s: %w", campaign, err)
		}
	}
	if len(s.sums) >= splitsKept {
		clear(s.sums)
	}
	s.sums[campaign] = sums
	return sums, nil
}
