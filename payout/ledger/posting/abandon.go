package posting

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// FundKey is the key of the transaction that funds a campaign.
func FundKey(campaign string) string { return booking.KindFund + ":" + campaign }

// ReturnBudget gives a campaign's whole budget back. The row for the shard -1 makes every later reclaim of a shard
// void.
func (p *Poster) ReturnBudget(ctx context.Context, tx *sqldb.Tx, c *rain.Campaign) error {
	at := position{ref: rain.EntryRef{Campaign: c.ID, Shard: WholeCampaign}, ms: p.clock(), key: "reclaim:" + c.ID}
	_, err := p.write(ctx, tx, &batch{
		txns: []booking.Txn{booking.Move(booking.KindReclaim, at.key, booking.EscrowAccount(c.ID),
			booking.SponsorAccount(c.Sponsor), c.Budget)},
		reclaims: []postedReclaim{{at, rain.Numbers{{First: 0, Last: c.Packets - 1}}, c.Packets, c.Budget}},
		totals:   map[string]Totals{c.ID: {Reclaimed: int64(c.Packets), AmountReclaimed: c.Budget}},
	})
	return err
}
