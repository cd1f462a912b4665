package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/rain"
)

func TestApplyKeepsTheNewestVersion(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Shards: 2})
			older := gm.C.Clone()
			gm.C.Status = rain.Paused
			gm.Apply()
			for range 2 {
				if err := gm.G.Apply(t.Context(), older); err != nil {
					t.Fatal(err)
				}
			}
			stale := gm.Node().Gate(older)
			if r := grabtest.TapOn(stale, "p", gm.Drop(0)); r.Outcome != outcome.NotOpen {
				t.Errorf("an older version has undone a newer one: %v", r)
			}
			if l := gm.Levels(); l.Stock != 10 {
				t.Errorf("paused, the levels are %+v", l)
			}
			// A campaign that is not opened yet takes no version.
			loading := grabtest.New(t, rdb, grabtest.Setup{Packets: 10, NotOpen: true})
			if err := loading.G.Apply(t.Context(), loading.C); !errors.Is(err, store.ErrNoState) {
				t.Errorf("without a stock: %v", err)
			}
			k := loading.G.Keys(loading.C.ID, 0)
			if err := loading.G.LoadPackets(t.Context(), k, 0, 10, 0,
				100); err != nil {
				t.Fatal(err)
			}
			if err := loading.G.Apply(t.Context(), loading.C); !errors.Is(err, store.ErrNoState) {
				t.Errorf("half loaded: %v", err)
			}
			if status := rdb.HGet(t.Context(), k.State, "status").Val(); status != string(rain.Loading) {
				t.Errorf("half loaded and %s", status)
			}
			loading.C.Status = rain.Loading
			if err := loading.G.Apply(t.Context(), loading.C); err != nil {
				t.Errorf("a version that is loading itself: %v", err)
			}
		})
	}
}

func TestClosedIsForGood(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10, Shards: 2, Split: rain.DoubleMean})
			gm.Want("p", gm.Drop(0), outcome.Won)
			before := gm.Levels()
			stale := gm.Gate
			open := gm.C.Clone()
			if err := gm.C.Close(gm.Options.Clock()); err != nil {
				t.Fatal(err)
			}
			gm.C.Revision++
			for range 3 {
				if err := gm.G.CloseCampaign(t.Context(), gm.C); err != nil {
					t.Fatal(err)
				}
			}
			shards, err := gm.G.Snapshot(t.Context(), gm.C)
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
			gm.Balance()

			// Nothing opens it again: not an older version, not a newer one, not loading it.
			open.Revision = gm.C.Revision + 10
			gm.C.Revision += 20
			for _, c := range []*rain.Campaign{gm.C, open} {
				if err := gm.G.Apply(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
			if err := gm.G.Open(t.Context(), open, gm.Amounts); !errors.Is(err, store.ErrClosed) {
				t.Errorf("loading a closed campaign: %v", err)
			}
			if r := grabtest.TapOn(stale, "q", drop2(gm, open)); r.Outcome != outcome.NotOpen {
				t.Errorf("a tap on a closed campaign: %v", r)
			}
			gm.Balance()
			if l := gm.Levels(); l != (store.Levels{Won: 1, AmountWon: before.AmountWon}) {
				t.Errorf("levels %+v", l)
			}
		})
	}
}

// drop2 is the first drop that is in the air by another version.
func drop2(gm *grabtest.Game, c *rain.Campaign) string {
	like := *gm
	like.C = c
	return like.Drop(0)
}

func TestClosingWhatWasNeverOpenedReclaimsNothing(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10, NotOpen: true})
			k := gm.G.Keys(gm.C.ID, 0)
			if err := gm.G.LoadPackets(t.Context(), k, 0, 10, 0, 100,
				100); err != nil {
				t.Fatal(err)
			}
			if err := gm.G.CloseCampaign(t.Context(), gm.C); err != nil {
				t.Fatal(err)
			}
			if n, err := gm.G.Pending(t.Context(), gm.C); err != nil || n != 0 {
				t.Errorf("%d entries (%v), want none", n, err)
			}
			if n := rdb.LLen(t.Context(), k.Stock).Val(); n != 0 {
				t.Errorf("%d packets are left", n)
			}
			if err := gm.G.Open(t.Context(), gm.C, gm.Amounts); !errors.Is(err, store.ErrClosed) {
				t.Errorf("open after all: %v", err)
			}
		})
	}
}

// A stock from which packets are missing names each packet.
func TestAStockWithNumbers(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10, Shards: 1, Split: rain.DoubleMean})
			k := gm.G.Keys(gm.C.ID, 0)
			rdb.Del(t.Context(), k.Stock)
			numbered := []int{9, 4, 7}
			var left rain.Money
			for _, p := range numbered {
				rdb.RPush(t.Context(), k.Stock, fmt.Sprintf("%d:%d", p, gm.Amounts[p]))
				left += gm.Amounts[p]
			}
			rdb.HSet(t.Context(), k.State, "left", int64(left))
			for i, p := range numbered {
				r := gm.Want(fmt.Sprint("p", i), gm.Drop(0), outcome.Won)
				if r.Packet != p || r.Amount != gm.Amounts[p] {
					t.Errorf("win %d: %+v, want packet %d of %d", i, r, p, gm.Amounts[p])
				}
			}
			gm.Want("q", gm.Drop(0), outcome.SoldOut)
			if l := gm.Levels(); l.AmountLeft != 0 || l.AmountWon != left {
				t.Errorf("levels %+v", l)
			}
		})
	}
}

// Without a rain, and with one that was stopped, no tap counts, whatever the time is.
func TestAStoppedRainIsNone(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{Rain: func(r *rain.Rain) { r.Pacing = rain.PacingEven }})
	k, r := gm.G.Keys(gm.C.ID, 0), gm.C.Current()
	fields := func() string {
		return fmt.Sprint(rdb.HMGet(t.Context(), k.State, "rain", "opens", "closes", "paced", "duration_ms").Val())
	}
	const grace = 500 // the nodes' clocks differ
	if got, want := fields(), fmt.Sprint([]any{r.ID, r.StartsAt, r.TapsUntil() + grace, 1, r.DurationMS}); got != want {
		t.Errorf("raining: %s, want %s", got, want)
	}
	gm.C.Rains[0].StoppedAt = gm.Options.Clock()
	gm.Apply()
	if got := fields(); got != "[ 0 0 0 0]" {
		t.Errorf("stopped: %s", got)
	}
}

// Only what is closed and paid is let go, and what Redis has lost is gone already.
func TestWhatIsLetGoIsOver(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{Shards: 2, Taps: 5})
	keys := func() (all []string) {
		found, err := rdb.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	kept := func(when string) {
		t.Helper()
		if err := gm.G.Expire(t.Context(), gm.C, time.Hour); !errors.Is(err, store.ErrNotClosed) {
			t.Errorf("%s: %v", when, err)
		}
		for _, key := range keys() {
			if left := rdb.PTTL(t.Context(), key).Val(); left > 0 && strings.Contains(key, gm.C.ID+".0") {
				t.Errorf("%s: %s goes in %s", when, key, left)
			}
		}
	}
	user := "p"
	for rain.HomeShard(user, 2) != 0 {
		user += "p"
	}
	kept("open, with nothing to pay")
	gm.Want(user, gm.Drop(0), outcome.Won)
	rank(gm, gm.G, user)
	kept("open")
	if err := gm.G.Report(t.Context(), gm.C.ID, "n", 1, store.NodeReport{}); err != nil {
		t.Fatal(err)
	}
	if err := gm.G.CloseCampaign(t.Context(), gm.C); err != nil {
		t.Fatal(err)
	}
	kept("closed, with something to pay")
	for _, e := range gm.Outbox() {
		gm.Remove([]rain.Entry{e})
	}
	for range 2 {
		if err := gm.G.Expire(t.Context(), gm.C, time.Hour); err != nil {
			t.Error(err)
		}
		for _, key := range keys() {
			if left := rdb.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Hour {
				t.Errorf("over, and %s stays for %s", key, left)
			}
		}
		rdb.Del(t.Context(), gm.G.Keys(gm.C.ID, 1).State) // lost
	}
}

// A full Redis takes the marker, too, and it goes by itself.
func TestTheMarkerGoes(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{})
	k := gm.G.Keys(gm.C.ID, 0)
	if _, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		gm.G.MarkFull(t.Context(), p, k, time.Minute)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if left := rdb.PTTL(t.Context(), k.Confirmed).Val(); left < 50*time.Second || left > time.Minute {
		t.Errorf("it stays for %s", left)
	}
}
