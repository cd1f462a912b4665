package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestApplyKeepsTheNewestVersion(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Shards: 2})
		older := gm.C.Clone()
		gm.C.Status = rain.Paused
		gm.Apply()
		for range 2 {
			testenv.Must(t, gm.G.Apply(t.Context(), older))
		}
		stale := gm.Node().Gate(older)
		gm.WantOn(stale, "p", gm.Drop(0), outcome.NotOpen)
		testenv.Equal(t, gm.Levels().Stock, 10, "paused, the levels are")
		// A campaign that is not opened yet takes no version.
		loading := grabtest.New(t, rdb, grabtest.Setup{Packets: 10, NotOpen: true})
		testenv.WantErr(t, loading.G.Apply(t.Context(), loading.C), store.ErrNoState, "without a stock")
		loading.C.Status = rain.Loading
		testenv.WantErr(t, loading.G.Apply(t.Context(), loading.C), nil, "a version that is loading itself")
	})
}

// TestApplyReachesWhatIsThere: shards that Redis has lost do not keep the others from a new version.
func TestApplyReachesWhatIsThere(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 64, Shards: 32})
		const there = 31 // the last one
		for shard := range there {
			testenv.Must(t, rdb.Del(t.Context(), gm.G.Keys(gm.C.ID, shard).State).Err())
		}
		gm.C.Status = rain.Paused
		gm.C.Revision++
		testenv.WantErr(t, gm.G.Apply(t.Context(), gm.C), store.ErrNoState, "with lost shards")
		status, err := rdb.HGet(t.Context(), gm.G.Keys(gm.C.ID, there).State, "status").Result()
		if err != nil || status != string(rain.Paused) {
			t.Errorf("the shard that is there is %s, %v", status, err)
		}
	})
}

func TestClosedIsForGood(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10, Shards: 2, Split: rain.DoubleMean})
		gm.Want("p", gm.Drop(0), outcome.Won)
		before := gm.Levels()
		stale := gm.Gate
		open := gm.C.Clone()
		testenv.Must(t, gm.C.Close(gm.Options.Clock()))
		gm.C.Revision++
		for range 3 {
			testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		}
		shards := testenv.Got(gm.G.Snapshot(t.Context(), gm.C)).Must(t)
		reclaimed := rain.Reclaim{}
		for _, s := range shards {
			if s.Stock != nil || s.LastEntry != s.Entries[len(s.Entries)-1].Ref.ID {
				t.Errorf("closed, and %+v", s)
			}
			for _, e := range s.Entries {
				if e.Reclaim != nil {
					reclaimed.Numbers = append(reclaimed.Numbers, e.Reclaim.Numbers...)
					reclaimed.Amount += e.Reclaim.Amount
				}
			}
		}
		if reclaimed.Numbers.Count() != 9 || reclaimed.Amount != before.AmountLeft {
			t.Errorf("reclaimed %+v, there were %+v", reclaimed, before)
		}
		gm.Balance()

		// Nothing opens it again: not an older version, not a newer one, not loading it.
		open.Revision = gm.C.Revision + 10
		gm.C.Revision += 20
		for _, c := range []*rain.Campaign{gm.C, open} {
			testenv.Must(t, gm.G.Apply(t.Context(), c))
		}
		testenv.WantErr(t, gm.G.Open(t.Context(), open, soon(gm)), store.ErrClosed, "loading a closed campaign")
		gm.WantOn(stale, "q", drop2(gm, open), outcome.NotOpen)
		gm.Balance()
		gm.WantLevels(store.Levels{Won: 1, WonByLane: one(1), AmountWon: before.AmountWon})
	})
}

// drop2 is the first drop that is in the air by another version.
func drop2(gm *grabtest.Game, c *rain.Campaign) string {
	like := *gm
	like.C = c
	return like.Drop(0)
}

// A shard with many ranges is closed in several short calls. If the program stops between two of them, the next run
// continues.
func TestAShardInManyPiecesIsClosedInSeveralCalls(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		const pieces = 2*store.ReclaimedAtOnce + 7
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 2 * pieces, Shards: 1})
		gm.Lose()
		r := store.Restoration{Barrier: "1-0", Stock: inPieces(pieces)}
		testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, r))
		testenv.Must(t, gm.G.Load(t.Context()))
		b := &breaker{}
		b.left.Store(1)
		rdb.AddHook(b)
		testenv.WantErr(t, gm.G.CloseCampaign(t.Context(), gm.C), errBroken, "broken off")
		b.left.Store(1 << 40)
		testenv.Equal(t, gm.Pending(), 1, "after one call there are entries")
		// Packets that come from another shard now are reclaimed as well, and the shard lends no more.
		testenv.Got(gm.G.Borrow(t.Context(), gm.C.ID, rain.Lent{Move: "m", Numbers: rain.Numbers{{First: 1,
			Last: 1}}})).Want(t, 1, "the number of the move")
		if lent, err := gm.G.Lend(t.Context(), gm.C.ID, 0, 1, "n", 5); lent != nil || err != nil {
			t.Errorf("a closed shard has lent %v (%v)", lent, err)
		}
		counted := grabtest.CountCalls(rdb)
		for range 2 {
			testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		}
		if n := counted.Of("evalsha"); n < 3 || n > 4 {
			t.Errorf("closed on in %d calls", n)
		}
		var back rain.Numbers
		for _, e := range gm.Outbox() {
			if e.Reclaim == nil || len(e.Reclaim.Numbers) > store.ReclaimedAtOnce ||
				!grabtest.Ring.CheckClosing(e.Reclaim.Seal, gm.C.ID, 0, e.SealedAt) {
				t.Fatalf("%+v", e)
			}
			back = append(back, e.Reclaim.Numbers...)
		}
		if back.Count() != pieces+1 || rain.Remaining(back, nil).Count() != pieces+1 {
			t.Errorf("%d packets went back, want %d", back.Count(), pieces+1)
		}
		if l := gm.Levels(); l.Stock != 0 || l.AmountLeft != 0 {
			t.Errorf("levels %+v", l)
		}
	})
}

// inPieces is every other packet, each a range of its own.
func inPieces(n int) (numbers rain.Numbers) {
	for i := range n {
		numbers = append(numbers, rain.Range{First: 2 * i, Last: 2 * i})
	}
	return numbers
}

// Without a rain, and with one that was stopped, no tap counts, whatever the time is.
func TestAStoppedRainIsNone(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{Rain: func(r *rain.Rain) { r.Pacing = rain.PacingEven }})
	k, r := gm.G.Keys(gm.C.ID, 0), gm.C.Current()
	fields := func() string {
		return fmt.Sprint(rdb.HMGet(t.Context(), k.State, "first_wave", "opens", "closes", "paced",
			"duration_ms").Val())
	}
	const grace = 500 // the nodes' clocks differ
	if got, want := fields(), fmt.Sprint([]any{r.FirstWave, r.StartsAt, r.TapsUntil() + grace, 1,
		r.DurationMS}); got != want {
		t.Errorf("raining: %s, want %s", got, want)
	}
	gm.C.Rains[0].StoppedAt = gm.Options.Clock()
	gm.Apply()
	testenv.Equal(t, fields(), "[ 0 0 0 0]", "stopped")
}

// TestShardsWithoutPackets: a campaign may have fewer packets than shards. Shards without packets are open, and behave
// like shards that have become empty.
func TestShardsWithoutPackets(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 2, Shards: 5})
		if l := gm.Levels(); l.Stock != 2 || l.Unknown != 0 {
			t.Errorf("opened: %+v", l)
		}
		shards := testenv.Got(gm.G.Snapshot(t.Context(), gm.C)).Must(t)
		for n, s := range shards {
			if !s.Found || len(s.Unreadable) > 0 || s.Stock.String() != gm.C.Layout().Stock(n).String() {
				t.Errorf("shard %d: %+v", n, s)
			}
		}
		testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		if l := gm.Levels(); l.Stock != 0 || l.AmountWon != 0 {
			t.Errorf("closed: %+v", l)
		}
	})
}

// Only closed and paid campaigns expire. Keys that Redis has lost are gone already.
func TestWhatIsLetGoIsOver(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{Shards: 2, Taps: 5})
	keys := func() (all []string) {
		return testenv.Got(rdb.Keys(t.Context(), "*").Result()).Must(t)
	}
	kept := func(when string) {
		t.Helper()
		testenv.WantErr(t, gm.G.Expire(t.Context(), gm.C, time.Hour), store.ErrNotClosed, when)
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
	rank(gm, gm.G, map[string]rain.Money{user: 100})
	kept("open")
	testenv.Must(t, gm.G.Report(t.Context(), gm.C.ID, "n", 1, store.NodeReport{}))
	testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
	kept("closed, with something to pay")
	for _, e := range gm.Outbox() {
		gm.Remove([]rain.Entry{e})
	}
	for range 2 {
		testenv.Must(t, gm.G.Expire(t.Context(), gm.C, time.Hour))
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
	testenv.Must(t, testenv.Err(rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		gm.G.MarkFull(t.Context(), p, k, time.Minute)
		return nil
	})))
	if left := rdb.PTTL(t.Context(), k.Confirmed).Val(); left < 50*time.Second || left > time.Minute {
		t.Errorf("it stays for %s", left)
	}
}
