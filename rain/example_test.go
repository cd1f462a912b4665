package rain_test

import (
	"fmt"

	"redrain/rain"
)

// A budget is cut into packets that add up to it exactly. The same seed gives the same packets again.
func ExampleSpec_Cut() {
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor = "Gala", "acme"
	spec.Budget, spec.Packets = 10_000, 5

	amounts, err := spec.Cut(rain.Seed{1, 2, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	total, err := rain.Sum(amounts)
	fmt.Println(amounts, "=", total, err)
	// Output: [27.99 0.87 17.54 38.44 15.16] = 100.00 <nil>
}

// An impossible spec is refused, with every faulty field.
func ExampleSpec_Validate() {
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor = "Gala", "acme"
	spec.Budget, spec.Packets, spec.Shards = 99, 100, 0

	fmt.Println(spec.Validate())
	// Output: shards: is 1 to 256; budget: is less than packets × min (100 × 1)
}

// Anyone with the revealed seed can compute the drops, and check that it is the rain that was announced.
func ExampleRain_Wave() {
	secret := rain.Seed{4, 5, 6}
	announced := secret.Commitment() // published in the countdown
	fell := rain.Rain{
		Seed:     secret,
		Settings: rain.Settings{DurationMS: 2_000, DropsPerSecond: 8, FallMS: 4_000, DecoyPercent: 25},
	}
	published := fell.Digest()

	revealed, err := rain.ParseSeed(secret.Hex()) // published after the end
	if err != nil {
		fmt.Println(err)
		return
	}
	again := rain.Rain{
		Seed:     revealed,
		Settings: rain.Settings{DurationMS: 2_000, DropsPerSecond: 8, FallMS: 4_000, DecoyPercent: 25},
	}
	fmt.Println("as announced:", revealed.Commitment() == announced && again.Digest() == published)
	for _, d := range again.Wave(0).Drops {
		fmt.Printf("drop 0.%d at %d, kind %d, lands after %d ms\n", d.K, d.X, d.Kind, d.FallMS)
	}
	// Output:
	// as announced: true
	// drop 0.0 at 111, kind 1, lands after 3891 ms
	// drop 0.1 at 665, kind 1, lands after 3422 ms
}

// A tap is judged by the schedule alone, before it costs anything.
func ExampleSky_Classify() {
	sky := rain.NewSky(&rain.Rain{
		StartsAt: 1_000, Seed: rain.Seed{4, 5, 6},
		Settings: rain.Settings{DurationMS: 2_000, DropsPerSecond: 8, FallMS: 4_000},
	})
	words := map[rain.TapClass]string{
		rain.InAir: "in the air", rain.UnknownDrop: "unknown", rain.TooLate: "late", rain.NotOpen: "not open",
	}
	drop := rain.DropID{N: 1, K: 0} // appears a quarter of a second after the start
	for _, now := range []int64{999, 1_249, 1_250, 6_000} {
		fmt.Printf("%d ms: drop %s is %s\n", now, drop, words[sky.Classify(drop, now, false)])
	}
	fmt.Println("drop 1.7 is", words[sky.Classify(rain.DropID{N: 1, K: 7}, 1_250, false)])
	// Output:
	// 999 ms: drop 1.0 is not open
	// 1249 ms: drop 1.0 is unknown
	// 1250 ms: drop 1.0 is in the air
	// 6000 ms: drop 1.0 is late
	// drop 1.7 is unknown
}

// A player takes part on one shard, which has its part of the packets.
func ExampleHomeShard() {
	const packets, shards = 10, 3
	home := rain.HomeShard("guest-7f3a", shards)
	first, n := rain.ShardRange(packets, shards, home)
	fmt.Printf("shard %d has the packets %d to %d\n", home, first, first+n-1)
	// Output: shard 2 has the packets 7 to 9
}
