package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// wantUnknown checks that every operation finds the shard unknown.
func wantUnknown(t *testing.T, gm *grabtest.Game, when string) {
	t.Helper()
	ctx := t.Context()
	gm.WantOn(gm.Node().Gate(gm.C), "p", gm.Drop(0), outcome.Unavailable)
	testenv.WantErr(t, testenv.Err(gm.G.Levels(ctx, gm.C)), store.ErrNoState, when, "levels")
	testenv.WantErr(t, gm.G.Apply(ctx, gm.C), store.ErrNoState, when, "apply")
	testenv.WantErr(t, gm.G.CloseCampaign(ctx, gm.C), store.ErrNoState, when, "close")
	if snap, err := gm.G.Snapshot(ctx, gm.C); err != nil || snap[0].Found || snap[0].Entries != nil {
		t.Errorf("%s: snapshot: %+v, %v", when, snap, err)
	}
	testenv.Equal(t, len(gm.Read(10)), 0, "%s: read", when)
	if got, err := gm.G.Waiting(ctx, gm.C, 10); err != nil || got != nil || gm.Pending() != 0 {
		t.Errorf("%s: waiting %v, %v", when, got, err)
	}
	testenv.Got(gm.G.Lost(ctx, gm.C)).Want(t, []int{0}, "%s: lost", when)
}

func TestARestorationCanBeBrokenOffAnywhere(t *testing.T) {
	t.Parallel()
	step := int64(1)
	if testing.Short() {
		step = 3 // at every third call only
	}
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		const players = 2*store.RestoredAtOnce + 100
		const pieces = store.RestoredAtOnce + 50
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: players + 2*pieces, Wins: 3, Split: rain.DoubleMean})
		restoration := func(wins []grabtest.Known) store.Restoration {
			r := gm.Restoration(0, wins)
			r.Borrowed = make([]string, store.RestoredAtOnce+1)
			for i := range r.Borrowed {
				r.Borrowed[i] = fmt.Sprint("move ", i)
			}
			r.Stock = nil
			for p := players; p < gm.C.Packets; p++ {
				r.Stock = append(r.Stock, rain.Range{First: p, Last: p}) // each for itself, in several calls
			}
			return r
		}
		for i := 0; i < players; i += grabtest.MaxBatch {
			var taps [][2]string
			for p := i; p < min(i+grabtest.MaxBatch, players); p++ {
				taps = append(taps, [2]string{fmt.Sprint("player ", p%(players-50)), gm.Drop(p / (players - 50))})
			}
			gm.BatchOf(taps...)
		}
		wins, before := gm.Known(0), gm.Levels()
		if len(wins) != players {
			t.Fatalf("%d wins", len(wins))
		}
		b := &breaker{}
		b.left.Store(1 << 40)
		rdb.AddHook(b)
		gm.Gone = players
		for calls := int64(0); ; calls += step {
			gm.Lose()
			b.left.Store(calls)
			err := gm.G.Restore(t.Context(), gm.C, 0, restoration(wins))
			whole := b.left.Load() >= 0
			b.left.Store(1 << 40)
			if whole {
				testenv.Must(t, err)
				break
			}
			if err == nil {
				t.Fatalf("broken off after %d calls, and no error", calls)
			}
			when := fmt.Sprintf("broken off after %d calls", calls)
			wantUnknown(t, gm, when)
			if calls > 0 {
				testenv.WantErr(t, gm.G.Open(t.Context(), gm.C, soon(gm)), store.ErrNoState, when, "loading it")
			}
			if err := gm.G.Restore(t.Context(), gm.C, 0, restoration(wins)); err != nil {
				t.Fatalf("%s, and again: %v", when, err)
			}
			gm.WantLevels(before)
			gm.Balance()
		}
		if got := gm.Known(0); !slices.Equal(got, wins) {
			t.Errorf("%d wins, and not those of before", len(got))
		}
		testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, restoration(wins)), store.ErrAlive,
			"restoring what is there")
		gm.Balance()
	})
}

// double sends each call of a script twice, as go-redis does when an answer is lost.
func double(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			_ = next(ctx, cmd)
			cmd.SetErr(nil)
		}
		return next(ctx, cmd)
	}
}

func TestRepeatedStepsOfARestorationChangeNothing(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 2*store.RestoredAtOnce + 500, Wins: 2, Taps: 2})
		for p := range 20 {
			gm.Want(fmt.Sprint("p", p), gm.Drop(0), outcome.Won)
		}
		wins, before := gm.Known(0), gm.Levels()
		k := gm.G.Keys(gm.C.ID, 0)
		taps := rdb.HGetAll(t.Context(), k.Taps).Val()
		gm.Lose()
		testenv.Must(t, gm.G.Load(t.Context())) // so that each call is an EVALSHA
		rdb.AddHook(grabtest.Hook{Command: double})
		testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)))
		gm.Gone = 20
		gm.Balance()
		gm.WantLevels(before)
		testenv.Equal(t, gm.Known(0), wins, "wins")
		if got := rdb.HGetAll(t.Context(), k.Taps).Val(); !maps.Equal(got, taps) || len(got) != 41 {
			t.Errorf("taps %v, want %v", got, taps)
		}
	})
}

func TestOfTwoRestorersTheLastOneToBeginWins(t *testing.T) {
	t.Parallel()
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 5_000, Split: rain.DoubleMean})
		for p := range 5 {
			gm.Want(fmt.Sprint("p", p), gm.Drop(0), outcome.Won)
		}
		wins, before := gm.Known(0), gm.Levels()
		gm.Gone = 5
		// One stops in the middle of its wins, and another one does all of it.
		gm.Lose()
		slow := gm.Restoration(0, wins)
		slow.Wins = interrupted(wins, func() {
			testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)), nil)
		})
		testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, slow), store.ErrAlive, "the slow one")
		gm.Balance()
		// The same, but the other one is not ready either.
		gm.Lose()
		begun := gm.Restoration(0, wins)
		begun.Wins = interrupted(wins, func() {
			other := gm.Restoration(0, wins)
			other.Wins = func(func(rain.Win, rain.EntryRef) error) error { return errBroken }
			testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, other), errBroken)
		})
		testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, begun), store.ErrSuperseded, "one that was overtaken")
		wantUnknown(t, gm, "overtaken and given up")
		// All at once.
		var all sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			node := gm.Node()
			all.Go(func() { errs[i] = node.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)) })
		}
		all.Wait()
		done := 0
		for _, err := range errs {
			switch {
			case err == nil:
				done++
			case !errors.Is(err, store.ErrAlive) && !errors.Is(err, store.ErrSuperseded):
				t.Error(err)
			}
		}
		testenv.Equal(t, done, 1, "restorers that have done it: %v", errs)
		gm.Balance()
		gm.WantLevels(before)
		testenv.Equal(t, gm.Known(0), wins, "wins")
	})
}

// interrupted puts wins, and in their middle something else happens.
func interrupted(wins []grabtest.Known, happens func()) func(func(rain.Win, rain.EntryRef) error) error {
	return func(put func(rain.Win, rain.EntryRef) error) error {
		for i, k := range wins {
			if i == len(wins)/2 {
				happens()
			}
			if err := put(k.Win, k.Entry); err != nil {
				return err
			}
		}
		return nil
	}
}
