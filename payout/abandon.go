package payout

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// abandon gives a campaign's whole budget back. The row for the shard -1 makes every later reclaim of a shard void.
func (p *Poster) abandon(ctx context.Context, tx *sqldb.Tx, c *rain.Campaign) error {
	at := position{ref: rain.EntryRef{Campaign: c.ID, Shard: wholeCampaign}, ms: p.clock(), key: "reclaim:" + c.ID}
	_, err := p.write(ctx, tx, &batch{
		txns:     []txn{move(kindReclaim, at.key, escrowAccount(c.ID), sponsorAccount(c.Sponsor), c.Budget)},
		reclaims: []postedReclaim{{at, rain.Reclaim{Packets: c.Packets, Amount: c.Budget}}},
		totals:   map[string]totals{c.ID: {reclaimed: int64(c.Packets), amountReclaimed: c.Budget}},
	})
	return err
}
