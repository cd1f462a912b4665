package grabtest

import (
	"context"
	"slices"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// Lose has Redis forget all of the campaign.
func (gm *Game) Lose() {
	gm.T.Helper()
	for shard := range gm.C.Shards {
		gm.LoseShard(shard)
	}
}

// LoseShard has Redis forget all of a shard.
func (gm *Game) LoseShard(shard int) {
	gm.T.Helper()
	k := gm.G.Keys(gm.C.ID, shard)
	err := gm.RDB.Del(context.Background(), k.State, k.Stock, k.Wins, k.Taps, k.Outbox, k.Lent, k.Borrowed).Err()
	if err != nil {
		gm.T.Error(err)
	}
}

// Known is a win as the ledger knows it.
type Known struct {
	Win   rain.Win
	Entry rain.EntryRef
}

// Known is every win that Redis knows of a shard, in the order of the packets.
func (gm *Game) Known(shard int) (all []Known) {
	gm.T.Helper()
	amounts, err := rain.NewAmounts(gm.C)
	testenv.Must(gm.T, err)
	err = gm.G.EachRecord(gm.T.Context(), gm.C, shard, func(page rain.Records) error {
		for _, r := range page.Wins {
			r.Win.Amount = amounts.Of(r.Win.Packet)
			all = append(all, Known{r.Win, rain.EntryRef{Campaign: gm.C.ID, Shard: shard, ID: r.Entry}})
		}
		return nil
	})
	testenv.Must(gm.T, err)
	slices.SortFunc(all, func(a, b Known) int { return a.Win.Packet - b.Win.Packet })
	return slices.Compact(all) // HSCAN may say a player twice
}

// Restoration is the result of a rebuild from the wins: the rest of the shard is the stock.
func (gm *Game) Restoration(shard int, wins []Known) store.Restoration {
	taken := make(map[int]bool, len(wins))
	for _, k := range wins {
		taken[k.Win.Packet] = true
	}
	var stock rain.Numbers
	for p := range gm.C.Layout().Stock(shard).Each() {
		if !taken[p] {
			stock = stock.Add(p)
		}
	}
	return store.Restoration{
		Barrier: "1-0", Stock: stock,
		Wins: func(put func(rain.Win, rain.EntryRef) error) error {
			for _, k := range wins {
				if err := put(k.Win, k.Entry); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// Restore restores a shard, as RestoreAs does.
func (n *Node) Restore(ctx context.Context, c *rain.Campaign, shard int, what store.Restoration) error {
	return n.RestoreAs(ctx, c, shard, func(context.Context) (store.Restoration, error) { return what, nil })
}
