package paytest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

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
			Amounts: []rain.Money{50, 30, 20}, WinsPerUser: 2, TapsPerUser: 7, Shards: 2, Capacity: 11,
			AdmitPerSecond: 13, ExpiresInMS: 1000,
		},
		Status: rain.Loading, CreatedAt: 5, ExpiresAt: 1005, Revision: 1, SplitSeed: rain.Seed{9, 8, 7},
	}
}

// secret is the seal key of this package. NewBooks puts it into the ledger.
var secret = seal.Secret{7}

// Ring seals entries of this package.
var Ring = seal.NewRing(secret)

// SealedAt is the time of the seals of taps and closings, Unix ms. Every drop of Rain is in the air then.
const SealedAt = 1_000_000_000 + rainMS

// rainMS is the duration of Rain: even in the largest campaign each packet has its own drop.
const rainMS = rain.MaxPackets / rain.MaxDropsPerSecond * 1000

// Rain is a rain whose drops are all in the air at SealedAt. OpenCampaign gives each campaign one.
func Rain(campaign string) rain.Rain {
	r := rain.Rain{ID: "rain-" + campaign, Campaign: campaign, StartsAt: SealedAt - rainMS,
		Settings: rain.DefaultRain().Settings, Seed: rain.Seed{3}}
	r.DurationMS, r.DropsPerSecond, r.FallMS = rainMS, rain.MaxDropsPerSecond, 2*rainMS
	return r
}

// DropOf returns the drop of a packet.
func DropOf(packet int) string {
	const aWave = rain.MaxDropsPerSecond * rain.WaveMS / 1000
	return rain.DropID{N: int64(packet / aWave), K: packet % aWave}.String()
}

// Seal seals an entry, as a node would at SealedAt.
func Seal(e rain.Entry) rain.Entry {
	e.SealedAt = SealedAt
	return SealWith(Ring, e)
}

// SealWith seals an entry with the keys of a ring.
func SealWith(ring *seal.Ring, e rain.Entry) rain.Entry {
	e.Wins = slices.Clone(e.Wins)
	for i := range e.Wins {
		w := &e.Wins[i]
		w.Seal = string(ring.AppendTap(nil, e.Ref.Campaign, w.User, []byte(w.Drop), e.SealedAt))
	}
	if e.Reclaim != nil {
		sealed := *e.Reclaim
		sealed.Seal = ring.Closing(e.Ref.Campaign, e.Ref.Shard, e.SealedAt)
		e.Reclaim = &sealed
	}
	return e
}

// Copies returns entries as another worker reads them from Redis: a posting fills in their amounts.
func Copies(entries []rain.Entry) []rain.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		e := &entries[i]
		e.Wins = slices.Clone(e.Wins)
		if e.Reclaim != nil {
			r := *e.Reclaim
			e.Reclaim = &r
		}
	}
	return entries
}

// Home returns a player whose home shard is shard: the name, with a suffix if necessary.
func Home(name string, shard, shards int) string {
	for n, user := 1, name; ; n++ {
		if rain.HomeShard(user, shards) == shard {
			return user
		}
		user = fmt.Sprintf("%s.%d", name, n)
	}
}

// HomeOf is Home for a campaign that may have lanes: on a guests' shard the player is a guest.
func HomeOf(name string, shard int, l rain.Layout) string {
	for n, user := 1, name; ; n++ {
		if l.Home(user) == shard {
			return user
		}
		user = fmt.Sprintf("%s.%d", name, n)
		if l.LaneOfShard(shard) == rain.LaneGuests {
			sum := sha256.Sum256([]byte(user))
			user = rain.GuestPrefix + hex.EncodeToString(sum[:rain.GuestBytes])
		}
	}
}

// Amounts returns a campaign's list of amounts such that its first packets have the given ones: OpenCampaign's split
// changes the order of a list.
func Amounts(packets ...rain.Money) []rain.Money {
	split := rain.SplitSpec{Split: rain.List, Packets: len(packets), Min: 1}
	for i := range packets {
		split.Amounts = append(split.Amounts, rain.Money(i+1))
		split.Budget += rain.Money(i + 1)
	}
	order, err := split.Cut(splitSeed)
	if err != nil {
		panic(err)
	}
	list := make([]rain.Money, len(packets))
	for packet, from := range order {
		list[from-1] = packets[packet]
	}
	return list
}

// splitSeed is the seed of every campaign that OpenCampaign opens.
var splitSeed = rain.Seed{1, 2, 3}

// Entry is an outbox entry of shard 0. The n-th of a campaign has the id "<n>-0".
func Entry(campaign string, n int, wins ...rain.Win) rain.Entry {
	return ShardEntry(campaign, 0, n, wins...)
}

// ShardEntry is the n-th outbox entry of a shard.
func ShardEntry(campaign string, shard, n int, wins ...rain.Win) rain.Entry {
	return Seal(rain.Entry{Ref: rain.EntryRef{Campaign: campaign, Shard: shard, ID: fmt.Sprintf("%d-0", n)},
		Wins: wins})
}

// Win is a win of a player, in the drop of the packet.
func Win(user string, packet int, amount rain.Money) rain.Win {
	return rain.Win{User: user, Packet: packet, Amount: amount, Drop: DropOf(packet)}
}

// Packets are the numbers first … last.
func Packets(first, last int) rain.Numbers { return rain.Numbers{{First: first, Last: last}} }

// ReclaimEntry is the n-th entry of a shard of c1, which returns packets.
func ReclaimEntry(shard, n int, packets ...rain.Range) rain.Entry {
	return Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c1", Shard: shard, ID: fmt.Sprintf("%d-0", n)},
		Reclaim: &rain.Reclaim{Numbers: packets}})
}
