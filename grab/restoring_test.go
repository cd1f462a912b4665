package grab

import (
	"context"
	"iter"
	"slices"

	"redrain/rain"
)

// lose has Redis forget all of the campaign.
func (gm *game) lose() {
	gm.t.Helper()
	for shard := range gm.c.Shards {
		k := gm.g.keys.shard(gm.c.ID, shard)
		if err := gm.rdb.Del(context.Background(), k.state, k.stock, k.wins, k.taps, k.outbox).Err(); err != nil {
			gm.t.Error(err)
		}
	}
}

// known is a win as the ledger knows it.
type known struct {
	win   rain.Win
	entry rain.EntryRef
}

// known is every win that Redis knows of a shard, in the order of the packets.
func (gm *game) known(shard int) (all []known) {
	gm.t.Helper()
	err := gm.g.EachWin(gm.t.Context(), gm.c, shard, func(user string, w rain.Win, entry string) error {
		if w.User != user {
			gm.t.Errorf("%s has %+v", user, w)
		}
		all = append(all, known{w, rain.EntryRef{Campaign: gm.c.ID, Shard: shard, ID: entry}})
		return nil
	})
	if err != nil {
		gm.t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b known) int { return a.win.Packet - b.win.Packet })
	return slices.Compact(all) // HSCAN may say a player twice
}

// restoration is what a rebuild would make of the wins: the rest of the shard is the stock.
func (gm *game) restoration(shard int, wins []known) Restoration {
	first, n := rain.ShardRange(gm.c.Packets, gm.c.Shards, shard)
	taken := make(map[int]bool, len(wins))
	for _, k := range wins {
		taken[k.win.Packet] = true
	}
	r := Restoration{
		Barrier: "1-0",
		Stock: func(yield func(int, rain.Money) bool) {
			for p := first; p < first+n; p++ {
				if !taken[p] && !yield(p, gm.amounts[p]) {
					return
				}
			}
		},
		Wins: func(put func(rain.Win, rain.EntryRef) error) error {
			for _, k := range wins {
				if err := put(k.win, k.entry); err != nil {
					return err
				}
			}
			return nil
		},
	}
	r.Packets, r.Left = count(r.Stock)
	return r
}

func count(stock iter.Seq2[int, rain.Money]) (packets int, left rain.Money) {
	for _, amount := range stock {
		packets, left = packets+1, left+amount
	}
	return packets, left
}
