package grab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// wantUnknown checks that to everybody Redis knows nothing of the shard.
func (gm *game) wantUnknown(t *testing.T, when string) {
	t.Helper()
	ctx := t.Context()
	if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(0)); r.Outcome != Unavailable {
		t.Errorf("%s: a tap: %v", when, r)
	}
	if _, err := gm.g.Levels(ctx, gm.c); !errors.Is(err, ErrNoState) {
		t.Errorf("%s: levels: %v", when, err)
	}
	if err := gm.g.Apply(ctx, gm.c); !errors.Is(err, ErrNoState) {
		t.Errorf("%s: apply: %v", when, err)
	}
	if err := gm.g.CloseCampaign(ctx, gm.c); !errors.Is(err, ErrNoState) {
		t.Errorf("%s: close: %v", when, err)
	}
	if snap, err := gm.g.Snapshot(ctx, gm.c); err != nil || snap[0].Found || snap[0].Entries != nil {
		t.Errorf("%s: snapshot: %+v, %v", when, snap, err)
	}
	if got := gm.read("a", 10); got != nil {
		t.Errorf("%s: read %v", when, got)
	}
	if got := gm.claim("a", 0, 10); got != nil {
		t.Errorf("%s: claimed %v", when, got)
	}
	if got, err := gm.g.Waiting(ctx, gm.c, 10); err != nil || got != nil || gm.pending() != 0 {
		t.Errorf("%s: waiting %v, %v", when, got, err)
	}
	if got, err := gm.g.Lost(ctx, gm.c); err != nil || !slices.Equal(got, []int{0}) {
		t.Errorf("%s: lost %v, %v", when, got, err)
	}
}

func TestARestorationCanBeBrokenOffAnywhere(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			const players = 2*restoredAtOnce + 100
			gm := newGame(t, rdb, setup{packets: 3*restoredAtOnce + players, wins: 3, split: rain.DoubleMean})
			for i := 0; i < players; i += maxBatch {
				var taps [][2]string
				for p := i; p < min(i+maxBatch, players); p++ {
					taps = append(taps, [2]string{fmt.Sprint("player ", p%(players-50)), gm.drop(p / (players - 50))})
				}
				gm.batchOf(taps...)
			}
			wins, before := gm.known(0), gm.levels()
			if len(wins) != players {
				t.Fatalf("%d wins", len(wins))
			}
			b := &breaker{}
			b.left.Store(1 << 40)
			rdb.AddHook(b)
			gm.gone = players
			for calls := int64(0); ; calls++ {
				gm.lose()
				b.left.Store(calls)
				err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins))
				whole := b.left.Load() >= 0
				b.left.Store(1 << 40)
				if whole {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				if err == nil {
					t.Fatalf("broken off after %d calls, and no error", calls)
				}
				when := fmt.Sprintf("broken off after %d calls", calls)
				gm.wantUnknown(t, when)
				if calls > 0 {
					if err := gm.g.Open(t.Context(), gm.c, gm.amounts); !errors.Is(err, ErrNoState) {
						t.Errorf("%s: loading it: %v", when, err)
					}
				}
				if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
					t.Fatalf("%s, and again: %v", when, err)
				}
				if l := gm.levels(); l != before {
					t.Errorf("%s: levels %+v, before %+v", when, l, before)
				}
				gm.balance()
			}
			if got := gm.known(0); !slices.Equal(got, wins) {
				t.Errorf("%d wins, and not those of before", len(got))
			}
			if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); !errors.Is(err, ErrAlive) {
				t.Errorf("restoring what is there: %v", err)
			}
			gm.balance()
		})
	}
}

// doubler sends each call of a script twice, as go-redis does when an answer is lost.
type doubler struct{}

func (doubler) DialHook(next redis.DialHook) redis.DialHook { return next }

func (doubler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			_ = next(ctx, cmd)
			cmd.SetErr(nil)
		}
		return next(ctx, cmd)
	}
}

func (doubler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestRepeatedStepsOfARestorationChangeNothing(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 2*restoredAtOnce + 500, wins: 2, taps: 2})
			for p := range 20 {
				gm.want(fmt.Sprint("p", p), gm.drop(0), Won)
			}
			wins, before := gm.known(0), gm.levels()
			k := gm.g.keys.shard(gm.c.ID, 0)
			taps := rdb.HGetAll(t.Context(), k.taps).Val()
			gm.lose()
			if err := gm.g.Load(t.Context()); err != nil { // so that each call is an EVALSHA
				t.Fatal(err)
			}
			rdb.AddHook(doubler{})
			if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
				t.Fatal(err)
			}
			gm.gone = 20
			gm.balance()
			if l := gm.levels(); l != before {
				t.Errorf("levels %+v, before %+v", l, before)
			}
			if got := gm.known(0); !slices.Equal(got, wins) {
				t.Errorf("wins %v, want %v", got, wins)
			}
			if got := rdb.HGetAll(t.Context(), k.taps).Val(); fmt.Sprint(got) != fmt.Sprint(taps) || len(got) != 20 {
				t.Errorf("taps %v, want %v", got, taps)
			}
		})
	}
}

func TestOfTwoRestorersTheLastOneToBeginWins(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 5_000, split: rain.DoubleMean})
			for p := range 5 {
				gm.want(fmt.Sprint("p", p), gm.drop(0), Won)
			}
			wins, before := gm.known(0), gm.levels()
			gm.gone = 5
			// One stops in the middle of its stock, and another one does all of it.
			gm.lose()
			slow := gm.restoration(0, wins)
			stock := slow.Stock
			slow.Stock = func(yield func(int, rain.Money) bool) {
				n := 0
				for p, amount := range stock {
					if n++; n == 2*restoredAtOnce {
						if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
							t.Error(err)
						}
					}
					if !yield(p, amount) {
						return
					}
				}
			}
			if err := gm.g.Restore(t.Context(), gm.c, 0, slow); !errors.Is(err, ErrAlive) {
				t.Errorf("the slow one: %v", err)
			}
			gm.balance()
			// The same, but the other one is not ready either.
			gm.lose()
			begun := gm.restoration(0, wins)
			begun.Stock = func(yield func(int, rain.Money) bool) {
				n := 0
				for p, amount := range stock {
					if n++; n == 2*restoredAtOnce+1 {
						other := gm.restoration(0, wins)
						other.Wins = func(func(rain.Win, rain.EntryRef) error) error { return errBroken }
						if err := gm.g.Restore(t.Context(), gm.c, 0, other); !errors.Is(err, errBroken) {
							t.Error(err)
						}
					}
					if !yield(p, amount) {
						return
					}
				}
			}
			if err := gm.g.Restore(t.Context(), gm.c, 0, begun); !errors.Is(err, ErrSuperseded) {
				t.Errorf("one that was overtaken: %v", err)
			}
			gm.wantUnknown(t, "overtaken and given up")
			// All at once.
			var all sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				node := gm.node()
				all.Go(func() { errs[i] = node.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)) })
			}
			all.Wait()
			done := 0
			for _, err := range errs {
				switch {
				case err == nil:
					done++
				case !errors.Is(err, ErrAlive) && !errors.Is(err, ErrSuperseded):
					t.Error(err)
				}
			}
			if done != 1 {
				t.Errorf("%d of them have done it: %v", done, errs)
			}
			gm.balance()
			if l := gm.levels(); l != before {
				t.Errorf("levels %+v, before %+v", l, before)
			}
			if got := gm.known(0); !slices.Equal(got, wins) {
				t.Errorf("wins %v, want %v", got, wins)
			}
		})
	}
}
