package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestARestorationThatDoesNotAddUpIsRefused(t *testing.T) {
	t.Parallel()
	gm := grabtest.New(t, grabtest.InProcess(t), grabtest.Setup{Packets: 10})
	gm.Want("p", gm.Drop(0), outcome.Won)
	wins := gm.Known(0)
	testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)), store.ErrAlive,
		"of a shard that is there")
	// An outbox without a state: its entries may not be in the ledger.
	k := gm.G.Keys(gm.C.ID, 0)
	gm.RDB.Del(t.Context(), k.State)
	testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)), store.ErrUnsettled,
		"with an outbox that is not empty")
	gm.Remove(gm.Read(10))
	for name, change := range map[string]func(r *store.Restoration){
		"no barrier":         func(r *store.Restoration) { r.Barrier = "" },
		"a barrier of zero":  func(r *store.Restoration) { r.Barrier = "0-0" },
		"a packet won twice": func(r *store.Restoration) { *r = gm.Restoration(0, append(wins, wins...)) },
		"in the stock and won": func(r *store.Restoration) {
			*r = gm.Restoration(0, nil)
			r.Wins = gm.Restoration(0,
				wins).Wins
		},
		"in the stock twice": func(r *store.Restoration) {
			r.Stock = rain.Numbers{{First: 1, Last: 5}, {First: 5, Last: 9}}
		},
		"a packet of no campaign": func(r *store.Restoration) { r.Stock = rain.Numbers{{First: 1, Last: 10}} },
		"a packet below all":      func(r *store.Restoration) { r.Stock = rain.Numbers{{First: -1, Last: 3}} },
		"a range that is none":    func(r *store.Restoration) { r.Stock = rain.Numbers{{First: 3, Last: 2}} },
		"a win of no campaign": func(r *store.Restoration) {
			far := wins[0]
			far.Win.Packet = 10
			*r = gm.Restoration(0, []grabtest.Known{far})
		},
		"a win without an entry": func(r *store.Restoration) {
			*r = gm.Restoration(0,
				[]grabtest.Known{{Win: wins[0].Win}})
		},
		"a win of nobody": func(r *store.Restoration) {
			nobody := wins[0]
			nobody.Win.User = ""
			*r = gm.Restoration(0, []grabtest.Known{nobody})
		},
		"the ledger does not answer": func(r *store.Restoration) {
			r.Wins = func(func(rain.Win, rain.EntryRef) error) error { return errBroken }
		},
	} {
		r := gm.Restoration(0, wins)
		change(&r)
		testenv.WantFail(t, gm.G.Restore(t.Context(), gm.C, 0, r), name, "restored")
		wantUnknown(t, gm, name)
	}
	testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)))
}

func TestAFullRedisIsNotRestoredHalfWay(t *testing.T) {
	server := testenv.StartRedis(t)
	rdb := grabtest.Connect(t, server.Addr)
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10})
	gm.Want("p", gm.Drop(0), outcome.Won)
	wins := gm.Known(0)
	gm.Gone = 1
	limit := func(bytes string) {
		testenv.WantErr(t, rdb.ConfigSet(context.Background(), "maxmemory", bytes).Err(), nil)
	}
	testenv.Must(t, rdb.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	for name, fill := range map[string]func(r *store.Restoration){
		"at once": func(*store.Restoration) { limit("1") },
		"at the wins": func(r *store.Restoration) {
			all := r.Wins
			r.Wins = func(put func(rain.Win, rain.EntryRef) error) error { limit("1"); return all(put) }
		},
		"at the end": func(r *store.Restoration) {
			all := r.Wins
			r.Wins = func(put func(rain.Win, rain.EntryRef) error) error { defer limit("1"); return all(put) }
		},
	} {
		gm.Lose()
		r := gm.Restoration(0, wins)
		fill(&r)
		if err := gm.G.Restore(t.Context(), gm.C, 0, r); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: %v", name, err)
		}
		limit("0")
		wantUnknown(t, gm, name)
		testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)), nil, name, "and again")
		gm.Balance()
	}
}

// A restored shard survives a restart, the ids above the barrier included. It also survives one after Redis has
// rewritten its file.
func TestARestoredShardSurvivesARestart(t *testing.T) {
	server := testenv.StartRedis(t)
	rdb := grabtest.Connect(t, server.Addr)
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10})
	first := gm.Want("p", gm.Drop(0), outcome.Won)
	wins := gm.Known(0)
	gm.Lose()
	r := gm.Restoration(0, wins)
	r.Barrier = fmt.Sprintf("%d-3", gm.Options.Clock()+600_000)
	testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, r))
	gm.Apply()
	testenv.Must(t, rdb.BgRewriteAOF(t.Context()).Err())
	testenv.Eventually(t, time.Minute, "the file is rewritten", func() bool {
		info, err := rdb.Info(t.Context(), "persistence").Result()
		return err == nil && strings.Contains(info, "aof_rewrite_in_progress:0") &&
			strings.Contains(info, "aof_rewrite_scheduled:0")
	})
	server.Kill()
	server.Start()
	node := gm.Node().Gate(gm.C)
	testenv.Equal(t, grabtest.TapOn(node, "p", gm.Drop(0)), first, "the first win again")
	if won := grabtest.TapOn(node, "q", gm.Drop(0)); won.Outcome != outcome.Won || won.Packet != 1 {
		t.Errorf("%v", won)
	}
	if e := gm.Read(10); len(e) != 1 || !above(t, e[0].Ref, r.Barrier) {
		t.Errorf("entries %v, want one above %s", e, r.Barrier)
	}
}

// A shard that was rolled back takes no taps of any player until it is restored.
func TestAShardThatHasGoneBackTakesNoTaps(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		for what, know := range map[string]struct {
			entry string
			moves int64
			lost  bool
		}{
			"as much":          {"2000-5", 7, false},
			"more":             {"1999-9", 6, false},
			"less, entries":    {"2000-6", 7, true},
			"less, by far":     {"10000-0", 0, true},
			"less, moves":      {"0-0", 8, true},
			"more and less":    {"3-3", 8, true},
			"nothing at all":   {"0-0", 0, false},
			"digits, not text": {"999-9", 7, false},
		} {
			gm := grabtest.New(t, rdb, grabtest.Setup{NoRain: true})
			gm.Lose()
			r := gm.Restoration(0, nil)
			r.Barrier, r.Moves = "2000-5", 7
			testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, r))
			gm.LetItRain(nil)
			for range 2 {
				lost, err := gm.G.Moves.Lose(t.Context(), gm.C.ID, 0, know.entry, know.moves)
				if err != nil || lost != know.lost {
					t.Errorf("%s: lost %v (%v)", what, lost, err)
				}
				know.lost = false // the second time there is nothing to lose any more
			}
			testenv.Equal(t, testenv.Got(gm.G.Lost(t.Context(), gm.C)).Must(t) != nil, tapFails(gm),
				"%s: lost, as taps fail", what)
		}
	})
}

// tapFails reports whether a tap fails on a node that has no knowledge of the shard.
func tapFails(gm *grabtest.Game) bool {
	gm.T.Helper()
	return gm.Script().Call(gm.T.Context(), []*grabtest.Tap{grabtest.TapOf(gm.T, "p", "0.0")}) != nil
}

// A node that knows of an entry or a move that Redis has forgotten takes the shard out for all nodes. A restoration
// heals it, even if only that node knows of the move.
func TestANodeNoticesThatRedisHasGoneBack(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		for what, happens := range map[string]func(gm *grabtest.Game) error{
			"an entry": func(gm *grabtest.Game) error { return nil },
			"a move": func(gm *grabtest.Game) error {
				return testenv.Err(gm.G.Lend(gm.T.Context(), gm.C.ID, 0, 1, "m", 1))
			},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				gm := grabtest.New(t, rdb, grabtest.Setup{Wins: 5})
				testenv.Must(t, happens(gm))
				knows := gm.Script()
				tap := func(drop string) error {
					return knows.Call(t.Context(), []*grabtest.Tap{grabtest.TapOf(t, "p", drop)})
				}
				testenv.Must(t, tap("0.0"))
				// Redis comes back with its earlier state.
				gm.Lose()
				older := gm.Restoration(0, nil)
				if what == "a move" {
					older.Barrier = knows.Heard
				}
				testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, older))
				gm.Apply()
				testenv.WantErr(t, tap("0.1"), store.ErrBehind, "the node that knows better")
				if err := gm.Script().Call(t.Context(), []*grabtest.Tap{grabtest.TapOf(t, "q", "0.1")}); !errors.Is(err,
					store.ErrNoState) {
					t.Errorf("another node: %v", err)
				}
				gm.LoseShard(0)
				whole := gm.Restoration(0, nil)
				whole.Epoch = gm.Options.Clock() + 60_000
				whole.Barrier = fmt.Sprintf("%d-0", whole.Epoch)
				testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, whole))
				gm.Apply()
				for i := range 2 {
					testenv.WantErr(t, tap(fmt.Sprintf("1.%d", i)), nil, "restored")
				}
			})
		}
	}
}
