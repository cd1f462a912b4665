package grab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

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
		"no barrier":         func(r *Restoration) { r.Barrier = "" },
		"a barrier of zero":  func(r *Restoration) { r.Barrier = "0-0" },
		"another count":      func(r *Restoration) { r.Packets-- },
		"another sum":        func(r *Restoration) { r.Left++ },
		"a win is missing":   func(r *Restoration) { r.Wins = nil },
		"a packet won twice": func(r *Restoration) { *r = gm.restoration(0, append(wins, wins...)) },
		"in the stock and won": func(r *Restoration) {
			*r = gm.restoration(0, nil)
			r.Wins = gm.restoration(0,
				wins).Wins
		},
		"won and in the stock, which lacks another": func(r *Restoration) {
			// as many packets as there should be, and of the same amount
			r.Stock = func(yield func(int, rain.Money) bool) {
				for p := range 9 {
					if !yield(p, gm.amounts[p]) {
						return
					}
				}
			}
		},
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

// What a restoration has written survives a restart, the ids above the barrier included, also when Redis has
// rewritten its file.
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
		return err == nil && strings.Contains(info, "aof_rewrite_in_progress:0") &&
			strings.Contains(info, "aof_rewrite_scheduled:0")
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
