package grab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestARestoredShardGoesOn(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 40, shards: 2, wins: 2, taps: 3, split: rain.DoubleMean})
			told := map[string]Result{}
			for p := range 12 {
				user := fmt.Sprint("player ", p)
				told[user] = gm.want(user, gm.drop(p%3), Won)
			}
			before, wins := gm.levels(), [][]known{gm.known(0), gm.known(1)}
			if got, err := gm.g.Lost(t.Context(), gm.c); err != nil || got != nil {
				t.Errorf("lost %v (%v), want nothing", got, err)
			}
			gm.lose()
			if got, err := gm.g.Lost(t.Context(), gm.c); err != nil || !slices.Equal(got, []int{0, 1}) {
				t.Errorf("lost %v (%v), want both", got, err)
			}
			future := fmt.Sprintf("%d-7", gm.options.Clock()+3_600_000) // another node's clock was ahead
			for shard := range 2 {
				r := gm.restoration(shard, wins[shard])
				r.Barrier = future
				if err := gm.g.Restore(t.Context(), gm.c, shard, r); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := gm.g.Lost(t.Context(), gm.c); err != nil || got != nil {
				t.Errorf("restored, and lost %v (%v)", got, err)
			}
			gm.gone = len(told)
			gm.balance()
			if l := gm.levels(); l != before {
				t.Errorf("levels %+v, before %+v", l, before)
			}
			snap, err := gm.g.Snapshot(t.Context(), gm.c)
			if err != nil || snap[0].LastEntry != future || snap[0].Entries != nil || gm.pending() != 0 {
				t.Errorf("snapshot %+v, %v", snap, err)
			}
			// Without a rain nothing is won; the campaign's version, which is older than the loss, brings it.
			node := gm.node().Gate(gm.c)
			if r := tapOn(node, "new", gm.drop(0)); r.Outcome != NotOpen {
				t.Errorf("before its version is applied: %v", r)
			}
			if err := gm.g.Apply(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
			for _, k := range slices.Concat(wins...) {
				if again := tapOn(node, k.win.User, k.win.Drop); again != told[k.win.User] {
					t.Errorf("%s has %v again, was told %v", k.win.User, again, told[k.win.User])
				}
			}
			// One win more for each, and one tap more that wins nothing is left of three.
			for user := range told {
				r := tapOn(node, user, gm.drop(5))
				if r.Outcome != Won {
					t.Errorf("%s: the second win: %v", user, r)
				}
				if r := tapOn(gm.node().Gate(gm.c), user, gm.drop(6)); r.Outcome != Already {
					t.Errorf("%s: a third win: %v", user, r)
				}
			}
			for _, e := range gm.outbox() {
				if !above(t, e.Ref, future) {
					t.Errorf("entry %s is not above %s", e.Ref, future)
				}
				for _, w := range e.Wins {
					if slices.ContainsFunc(slices.Concat(wins...), func(k known) bool { return k.win.Packet == w.Packet }) {
						t.Errorf("packet %d was given twice", w.Packet)
					}
				}
			}
			gm.balance()
			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
			gm.balance()
		})
	}
}

// above tells whether an entry's id is above another id.
func above(t *testing.T, ref rain.EntryRef, id string) bool {
	t.Helper()
	ms, seq, err := ref.Position()
	if err != nil {
		t.Fatal(err)
	}
	ms2, seq2, err := rain.EntryRef{ID: id}.Position()
	if err != nil {
		t.Fatal(err)
	}
	return ms > ms2 || (ms == ms2 && seq > seq2)
}

func TestAClosedShardIsRestoredClosed(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 10})
			stale, drop := gm.c.Clone(), gm.drop(0)
			first := gm.want("p", drop, Won)
			if err := gm.c.Close(gm.options.Clock()); err != nil {
				t.Fatal(err)
			}
			gm.apply()
			wins, before := gm.known(0), gm.levels()
			gm.lose()
			r := gm.restoration(0, wins)
			r.Closed = true
			if err := gm.g.Restore(t.Context(), gm.c, 0, r); !errors.Is(err, errRestoration) {
				t.Errorf("closed, with a stock: %v", err)
			}
			r.Stock, r.Packets, r.Left = nil, 0, 0
			if err := gm.g.Restore(t.Context(), gm.c, 0, r); err != nil {
				t.Fatal(err)
			}
			if l := gm.levels(); l != before {
				t.Errorf("levels %+v, before %+v", l, before)
			}
			if r := tapOn(gm.node().Gate(stale), "p", drop); r != first {
				t.Errorf("the win again: %v, want %v", r, first)
			}
			if r := tapOn(gm.node().Gate(stale), "q", drop); r.Outcome != NotOpen {
				t.Errorf("another one: %v", r)
			}
			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil || gm.pending() != 0 {
				t.Errorf("closed again: %v, %d entries", err, gm.pending())
			}
			newer := stale.Clone()
			newer.Revision += 100
			if err := gm.g.Apply(t.Context(), newer); err != nil || tapOn(gm.node().Gate(stale), "q", drop).Outcome != NotOpen {
				t.Errorf("a version has opened it (%v)", err)
			}
			if err := gm.g.Open(t.Context(), stale, gm.amounts); !errors.Is(err, ErrClosed) {
				t.Errorf("loading it: %v", err)
			}
		})
	}
}

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

func TestARestorationThatDoesNotAddUpIsRefused(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{packets: 10})
	gm.want("p", gm.drop(0), Won)
	wins := gm.known(0)
	if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); !errors.Is(err, ErrAlive) {
		t.Errorf("of a shard that is there: %v", err)
	}
	// An outbox without a state: what is in it may not be in the ledger.
	k := gm.g.keys.shard(gm.c.ID, 0)
	gm.rdb.Del(t.Context(), k.state)
	if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); !errors.Is(err, ErrUnsettled) {
		t.Errorf("with an outbox that is not empty: %v", err)
	}
	gm.remove(gm.read("a", 10))
	for name, change := range map[string]func(r *Restoration){
		"no barrier":           func(r *Restoration) { r.Barrier = "" },
		"a barrier of zero":    func(r *Restoration) { r.Barrier = "0-0" },
		"another count":        func(r *Restoration) { r.Packets-- },
		"another sum":          func(r *Restoration) { r.Left++ },
		"a win is missing":     func(r *Restoration) { r.Wins = nil },
		"a packet won twice":   func(r *Restoration) { *r = gm.restoration(0, append(wins, wins...)) },
		"in the stock and won": func(r *Restoration) { *r = gm.restoration(0, nil); r.Wins = gm.restoration(0, wins).Wins },
		"a packet of another shard": func(r *Restoration) {
			r.Stock = func(yield func(int, rain.Money) bool) { yield(10, 100) }
		},
		"an empty packet": func(r *Restoration) {
			r.Stock = func(yield func(int, rain.Money) bool) { yield(3, 0) }
		},
		"a win without an entry": func(r *Restoration) { *r = gm.restoration(0, []known{{win: wins[0].win}}) },
		"a win of nobody": func(r *Restoration) {
			nobody := wins[0]
			nobody.win.User = ""
			*r = gm.restoration(0, []known{nobody})
		},
		"the ledger does not answer": func(r *Restoration) {
			r.Wins = func(func(rain.Win, rain.EntryRef) error) error { return errBroken }
		},
	} {
		r := gm.restoration(0, wins)
		change(&r)
		if err := gm.g.Restore(t.Context(), gm.c, 0, r); err == nil {
			t.Errorf("%s: restored", name)
		}
		gm.wantUnknown(t, name)
	}
	if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
		t.Error(err)
	}
}

// A loading that Redis remembers by half, of a campaign that is open, is a loss too.
func TestAHalfRememberedLoadingIsRestored(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 10, notOpen: true})
			k := gm.g.keys.shard(gm.c.ID, 0)
			if err := gm.g.scripts.open.Run(t.Context(), rdb, k.loading(), "load", 0, 10, 0, 7, 7).Err(); err != nil {
				t.Fatal(err)
			}
			if got, err := gm.g.Lost(t.Context(), gm.c); err != nil || !slices.Equal(got, []int{0}) {
				t.Errorf("lost %v, %v", got, err)
			}
			if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, nil)); err != nil {
				t.Fatal(err)
			}
			if err := gm.g.Open(t.Context(), gm.c, gm.amounts); err != nil { // loads nothing on top
				t.Error(err)
			}
			gm.balance()
			gm.letItRain(nil)
			gm.gate = gm.g.Gate(gm.c)
			gm.want("p", gm.drop(0), Won)
		})
	}
}

func TestAFullRedisIsNotRestoredHalfWay(t *testing.T) {
	server := testenv.StartRedis(t)
	rdb := connect(t, server.Addr)
	gm := newGame(t, rdb, setup{packets: 10})
	gm.want("p", gm.drop(0), Won)
	wins := gm.known(0)
	gm.gone = 1
	limit := func(bytes string) {
		if err := rdb.ConfigSet(context.Background(), "maxmemory", bytes).Err(); err != nil {
			t.Error(err)
		}
	}
	if err := rdb.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
		t.Fatal(err)
	}
	for name, fill := range map[string]func(r *Restoration){
		"at once": func(*Restoration) { limit("1") },
		"at the wins": func(r *Restoration) {
			all := r.Wins
			r.Wins = func(put func(rain.Win, rain.EntryRef) error) error { limit("1"); return all(put) }
		},
		"at the end": func(r *Restoration) {
			all := r.Wins
			r.Wins = func(put func(rain.Win, rain.EntryRef) error) error { defer limit("1"); return all(put) }
		},
	} {
		gm.lose()
		r := gm.restoration(0, wins)
		fill(&r)
		if err := gm.g.Restore(t.Context(), gm.c, 0, r); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: %v", name, err)
		}
		limit("0")
		gm.wantUnknown(t, name)
		if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
			t.Errorf("%s, and again: %v", name, err)
		}
		gm.balance()
	}
}

// What a restoration has written survives a restart, the ids above the barrier included, also when Redis has rewritten its file.
func TestARestoredShardSurvivesARestart(t *testing.T) {
	server := testenv.StartRedis(t)
	rdb := connect(t, server.Addr)
	gm := newGame(t, rdb, setup{packets: 10})
	first := gm.want("p", gm.drop(0), Won)
	wins := gm.known(0)
	gm.lose()
	r := gm.restoration(0, wins)
	r.Barrier = fmt.Sprintf("%d-3", gm.options.Clock()+600_000)
	if err := gm.g.Restore(t.Context(), gm.c, 0, r); err != nil {
		t.Fatal(err)
	}
	gm.apply()
	if err := rdb.BgRewriteAOF(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "the file is rewritten", func() bool {
		info, err := rdb.Info(t.Context(), "persistence").Result()
		return err == nil && strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	})
	server.Kill()
	server.Start()
	node := gm.node().Gate(gm.c)
	if again := tapOn(node, "p", gm.drop(0)); again != first {
		t.Errorf("%v, want %v", again, first)
	}
	if won := tapOn(node, "q", gm.drop(0)); won.Outcome != Won || won.Packet != 1 {
		t.Errorf("%v", won)
	}
	if e := gm.read("a", 10); len(e) != 1 || !above(t, e[0].Ref, r.Barrier) {
		t.Errorf("entries %v, want one above %s", e, r.Barrier)
	}
}

func TestAHundredThousandPacketsAreRestored(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			const packets = 100_000
			gm := newGame(t, rdb, setup{packets: packets, split: rain.DoubleMean, wins: 5, taps: 40, noRain: true})
			drop, wins := gm.anyDrops(), make([]known, 0, packets/2)
			for p := 0; p < packets; p += 2 { // every other packet, some players with up to five
				user := fmt.Sprint("player ", p/2%11_000)
				wins = append(wins, known{
					rain.Win{User: user, Packet: p, Amount: gm.amounts[p], Drop: drop[p/22_000]},
					rain.EntryRef{ID: fmt.Sprintf("%d-%d", 1_763_712_000_000+p, p%3)},
				})
			}
			gm.lose()
			began := time.Now()
			if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d packets in %v", packets, time.Since(began))
			gm.gone = len(wins)
			gm.balance()
			for i := range wins {
				wins[i].entry.Campaign = gm.c.ID
			}
			if got := gm.known(0); !slices.Equal(got, wins) {
				t.Errorf("%d wins, want the %d that were restored", len(got), len(wins))
			}
			gm.letItRain(nil)
			gm.gate = gm.g.Gate(gm.c)
			if r := gm.want("new", gm.drop(0), Won); r.Packet != 1 {
				t.Errorf("%v, want the first packet that nobody has won", r)
			}
			gm.balance()
		})
	}
}

// anyDrops are some names of drops.
func (gm *game) anyDrops() (names []string) {
	for n := range int64(5) {
		names = append(names, rain.DropID{N: n, K: 1}.String())
	}
	return names
}

func TestRestockedForgetsThatAShardWasSoldOut(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{packets: 1})
	gm.want("p", gm.drop(0), Won)
	gm.want("q", gm.drop(0), SoldOut)
	gm.lose()
	if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, nil)); err != nil {
		t.Fatal(err)
	}
	gm.apply()
	gm.want("r", gm.drop(0), SoldOut)
	gm.gate.Restocked()
	gm.want("s", gm.drop(0), Won)
	gm.want("t", gm.drop(0), SoldOut)
}
