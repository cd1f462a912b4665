package grab

import (
	"errors"
	"fmt"
	"testing"

	"redrain/rain"
)

func TestApplyKeepsTheNewestVersion(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{shards: 2})
			older := gm.c.Clone()
			gm.c.Status = rain.Paused
			gm.apply()
			for range 2 {
				if err := gm.g.Apply(t.Context(), older); err != nil {
					t.Fatal(err)
				}
			}
			stale := gm.node().Gate(older)
			if r := tapOn(stale, "p", gm.drop(0)); r.Outcome != NotOpen {
				t.Errorf("an older version has undone a newer one: %v", r)
			}
			if l := gm.levels(); l.Stock != 10 {
				t.Errorf("paused, the levels are %+v", l)
			}
			// A campaign that is not opened yet takes no version.
			loading := newGame(t, rdb, setup{packets: 10, notOpen: true})
			if err := loading.g.Apply(t.Context(), loading.c); !errors.Is(err, ErrNoState) {
				t.Errorf("without a stock: %v", err)
			}
			k := loading.g.keys.shard(loading.c.ID, 0)
			if err := loading.g.scripts.open.Run(t.Context(), rdb, k.loading(), "load", 0, 10, 0,
				100).Err(); err != nil {
				t.Fatal(err)
			}
			if err := loading.g.Apply(t.Context(), loading.c); !errors.Is(err, ErrNoState) {
				t.Errorf("half loaded: %v", err)
			}
			if status := rdb.HGet(t.Context(), k.state, fieldStatus).Val(); status != string(rain.Loading) {
				t.Errorf("half loaded and %s", status)
			}
			loading.c.Status = rain.Loading
			if err := loading.g.Apply(t.Context(), loading.c); err != nil {
				t.Errorf("a version that is loading itself: %v", err)
			}
		})
	}
}

func TestClosedIsForGood(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 10, shards: 2, split: rain.DoubleMean})
			gm.want("p", gm.drop(0), Won)
			before := gm.levels()
			stale := gm.gate
			open := gm.c.Clone()
			if err := gm.c.Close(gm.options.Clock()); err != nil {
				t.Fatal(err)
			}
			gm.c.Revision++
			for range 3 {
				if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
					t.Fatal(err)
				}
			}
			shards, err := gm.g.Snapshot(t.Context(), gm.c)
			if err != nil {
				t.Fatal(err)
			}
			reclaimed := rain.Reclaim{}
			for _, s := range shards {
				if s.Packets != 0 || s.Left != 0 || s.LastEntry != s.Entries[len(s.Entries)-1].Ref.ID {
					t.Errorf("closed, and %+v", s)
				}
				for _, e := range s.Entries {
					if e.Reclaim != nil {
						reclaimed.Packets += e.Reclaim.Packets
						reclaimed.Amount += e.Reclaim.Amount
					}
				}
			}
			if reclaimed.Packets != 9 || reclaimed.Amount != before.AmountLeft {
				t.Errorf("reclaimed %+v, there were %+v", reclaimed, before)
			}
			gm.balance()

			// Nothing opens it again: not an older version, not a newer one, not loading it.
			open.Revision = gm.c.Revision + 10
			gm.c.Revision += 20
			for _, c := range []*rain.Campaign{gm.c, open} {
				if err := gm.g.Apply(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
			if err := gm.g.Open(t.Context(), open, gm.amounts); !errors.Is(err, ErrClosed) {
				t.Errorf("loading a closed campaign: %v", err)
			}
			if r := tapOn(stale, "q", gm.drop2(open)); r.Outcome != NotOpen {
				t.Errorf("a tap on a closed campaign: %v", r)
			}
			gm.balance()
			if l := gm.levels(); l != (Levels{Won: 1, AmountWon: before.AmountWon}) {
				t.Errorf("levels %+v", l)
			}
		})
	}
}

// drop2 is the first drop that is in the air by another version.
func (gm *game) drop2(c *rain.Campaign) string {
	like := *gm
	like.c = c
	return like.drop(0)
}

func TestClosingWhatWasNeverOpenedReclaimsNothing(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 10, notOpen: true})
			k := gm.g.keys.shard(gm.c.ID, 0)
			if err := gm.g.scripts.open.Run(t.Context(), rdb, k.loading(), "load", 0, 10, 0, 100,
				100).Err(); err != nil {
				t.Fatal(err)
			}
			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
			if n, err := gm.g.Pending(t.Context(), gm.c); err != nil || n != 0 {
				t.Errorf("%d entries (%v), want none", n, err)
			}
			if n := rdb.LLen(t.Context(), k.stock).Val(); n != 0 {
				t.Errorf("%d packets are left", n)
			}
			if err := gm.g.Open(t.Context(), gm.c, gm.amounts); !errors.Is(err, ErrClosed) {
				t.Errorf("open after all: %v", err)
			}
		})
	}
}

// A stock from which packets are missing names each packet.
func TestAStockWithNumbers(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 10, shards: 1, split: rain.DoubleMean})
			k := gm.g.keys.shard(gm.c.ID, 0)
			rdb.Del(t.Context(), k.stock)
			numbered := []int{9, 4, 7}
			var left rain.Money
			for _, p := range numbered {
				rdb.RPush(t.Context(), k.stock, fmt.Sprintf("%d:%d", p, gm.amounts[p]))
				left += gm.amounts[p]
			}
			rdb.HSet(t.Context(), k.state, fieldLeft, int64(left))
			for i, p := range numbered {
				r := gm.want(fmt.Sprint("p", i), gm.drop(0), Won)
				if r.Packet != p || r.Amount != gm.amounts[p] {
					t.Errorf("win %d: %+v, want packet %d of %d", i, r, p, gm.amounts[p])
				}
			}
			gm.want("q", gm.drop(0), SoldOut)
			if l := gm.levels(); l.AmountLeft != 0 || l.AmountWon != left {
				t.Errorf("levels %+v", l)
			}
		})
	}
}
