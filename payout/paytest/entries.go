package paytest

import (
	"fmt"

	"redrain/internal/seal"
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

// secret is what this package seals with. NewBooks puts it into the ledger.
var secret = seal.Secret{7}

// Ring seals what this package makes.
var Ring = seal.NewRing(secret)

// sealedAt is when taps and closings are sealed, Unix ms: while every drop of Rain is in the air, or nearly.
const sealedAt = 1_000_020_000

// Rain is a rain whose drops win until sealedAt: so many that each packet of a test's campaign has one of its own.
func Rain(campaign string) rain.Rain {
	return rain.Rain{ID: "rain-" + campaign, Campaign: campaign, StartsAt: sealedAt - 20_000, DurationMS: 20_000,
		DropsPerSecond: rain.MaxDropsPerSecond, FallMS: 20_000, Pacing: rain.PacingNone, Seed: rain.Seed{3}}
}

// DropOf is the drop that a packet is won with.
func DropOf(packet int) string {
	const aWave = rain.MaxDropsPerSecond * rain.WaveMS / 1000
	return rain.DropID{N: int64(packet / aWave), K: packet % aWave}.String()
}

// Seal seals all that is in an entry.
func Seal(e rain.Entry) rain.Entry {
	e.SealedAt = sealedAt
	for i := range e.Wins {
		w := &e.Wins[i]
		w.Seal = string(Ring.AppendTap(nil, e.Ref.Campaign, w.User, []byte(w.Drop), e.SealedAt))
	}
	if e.Reclaim != nil {
		e.Reclaim.Seal = Ring.Closing(e.Ref.Campaign, e.Ref.Shard, e.SealedAt)
	}
	return e
}

// Entry is an outbox entry of shard 0. The n-th of a campaign has the id "<n>-0".
func Entry(campaign string, n int, wins ...rain.Win) rain.Entry {
	return Seal(rain.Entry{Ref: rain.EntryRef{Campaign: campaign, ID: fmt.Sprintf("%d-0", n)}, Wins: wins})
}

// Win is a win of a player, in the drop of the packet.
func Win(user string, packet int, amount rain.Money) rain.Win {
	return rain.Win{User: user, Packet: packet, Amount: amount, Drop: DropOf(packet)}
}

// ReclaimEntry is the n-th entry of a shard of c1, which gives packets back.
func ReclaimEntry(shard, n int, packets ...rain.Range) rain.Entry {
	return Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c1", Shard: shard, ID: fmt.Sprintf("%d-0", n)},
		Reclaim: &rain.Reclaim{Numbers: packets}})
}
