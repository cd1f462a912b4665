package posting

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Holder is who has a packet, and what is in it.
type Holder struct {
	User   string
	Amount rain.Money
}

// eachHolder reads who has the packets. Those of a batch mostly lie close together, as they were won one after the
// other: then the range is read, with the few others in it, because a list of hundreds of numbers costs more than
// finding the rows.
func eachHolder(ctx context.Context, q sqldb.Querier, campaign string, packets []int, fn func(int, Holder)) error {
	if len(packets) == 0 {
		return nil
	}
	row := func(scan sqldb.Scan) error {
		var packet int
		var h Holder
		err := scan(&packet, &h.User, &h.Amount)
		fn(packet, h)
		return err
	}
	if first, last := slices.Min(packets), slices.Max(packets); last < first+2*len(packets) {
		return q.Each(ctx, row, selectHolders+"packet BETWEEN ? AND ?", campaign, first, last)
	}
	return sqldb.EachIn(ctx, q, row, selectHolders+"packet IN", packets, campaign)
}

const selectHolders = "SELECT packet, user_id, amount FROM payout WHERE campaign_id = ? AND "
