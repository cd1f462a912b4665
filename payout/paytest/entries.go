package paytest

import (
	"fmt"

	"redrain/rain"
)

// FullCampaign is a loading campaign of three packets with every field of its spec set.
func FullCampaign(id string) *rain.Campaign {
	most := rain.Money(60)
	return &rain.Campaign{
		ID: id,
		Spec: rain.Spec{
			Name: "新年 Gala 🧧", Sponsor: "acme", Budget: 100, Packets: 3, Split: rain.List, Min: 10, Max: &most,
			Amounts: []rain.Money{50, 30, 20}, WinsPerUser: 2, TapsPerUser: 7, Shards: 2, ExpiresInMS: 1000,
		},
		Status: rain.Loading, CreatedAt: 5, ExpiresAt: 1005, Revision: 1, SplitSeed: rain.Seed{9, 8, 7},
	}
}

// Entry is an outbox entry of shard 0. The n-th of a campaign has the id "<n>-0".
func Entry(campaign string, n int, wins ...rain.Win) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: campaign, ID: fmt.Sprintf("%d-0", n)}, Wins: wins}
}

// Win is a win of a player, in the drop 7.3.
func Win(user string, packet int, amount rain.Money) rain.Win {
	return rain.Win{User: user, Packet: packet, Amount: amount, Drop: "7.3"}
}

// ReclaimEntry is the n-th entry of a shard of c1, which gives 30 minor units of unwon packets back.
func ReclaimEntry(shard, n, packets int) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: "c1", Shard: shard, ID: fmt.Sprintf("%d-0", n)},
		Reclaim: &rain.Reclaim{Packets: packets, Amount: 30}}
}
