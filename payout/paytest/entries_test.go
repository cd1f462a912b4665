package paytest

import (
	"slices"
	"testing"

	"redrain/rain"
)

func TestAmountsAreInTheOrderOfThePackets(t *testing.T) {
	t.Parallel()
	want := []rain.Money{60, 1, 30, 9}
	split := rain.SplitSpec{Split: rain.List, Packets: 4, Min: 1, Budget: 100, Amounts: Amounts(want...)}
	if got, err := split.Cut(splitSeed); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestEachPacketHasADropInTheAir(t *testing.T) {
	t.Parallel()
	c := &rain.Campaign{Rains: []rain.Rain{Rain("c1")}}
	for _, packet := range []int{0, 1, 99, 100, 1_234_567, rain.MaxPackets - 1} {
		if err := c.CheckTicket("u1", DropOf(packet), SealedAt); err != nil {
			t.Errorf("packet %d: %v", packet, err)
		}
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	for shard := range 7 {
		if user := Home("u", shard, 7); rain.HomeShard(user, 7) != shard {
			t.Errorf("%q is not of shard %d", user, shard)
		}
	}
}
