package e2e

import (
	"strings"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/config"
)

// shardKeys are the keys of a shard, and how they were.
type shardKeys struct {
	*forger
	state, stock, wins, outbox, borrowed, lent string
	was                                        map[string]string
}

func (f *forger) shard(campaign string) *shardKeys {
	f.t.Helper()
	p := f.namespace + ":{" + campaign + ".0}:"
	k := &shardKeys{forger: f, state: p + "state", stock: p + "stock", wins: p + "wins", outbox: p + "outbox",
		borrowed: p + "borrowed", lent: p + "lent", was: map[string]string{}}
	for _, key := range []string{k.state, k.stock, k.wins, k.outbox, k.borrowed, k.lent} {
		k.was[key] = value(f.t, f.rdb.Dump(f.t.Context(), key))
	}
	return k
}

// undo brings the shard back to how it was.
func (k *shardKeys) undo() {
	k.t.Helper()
	for key, was := range k.was {
		testenv.Must(k.t, k.rdb.RestoreReplace(k.t.Context(), key, 0, was).Err())
	}
}

// value is the answer to a command that must succeed.
func value[T any](t *testing.T, cmd interface{ Result() (T, error) }) T {
	t.Helper()
	v, err := cmd.Result()
	testenv.Must(t, err)
	return v
}

// TestWhatIsChangedInRedisByHandIsNamed: stock, wins, state, moves and outbox, each by an alarm of the schedule and by
// `redrain reconcile`. Undone, and settled at last, every win that was told is paid, and nobody else is.
func TestWhatIsChangedInRedisByHandIsNamed(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	cfg := s.config()
	cfg.Roles = []string{config.RoleGateway, config.RoleOperator} // nobody empties the outbox
	cfg.ReconcileEvery = time.Second
	n := startNode(t, cfg)
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "by-hand", 10_000, 20), "")
	testenv.Must(t, err)
	won := winners(t, n, c.ID, 3)
	heard := listen(t, n)
	f := newForger(t, s)
	k := f.shard(c.ID)
	ctx, rdb := t.Context(), f.rdb
	entries := value(t, rdb.XRange(ctx, k.outbox, "-", "+"))
	if len(entries) != len(won) {
		t.Fatalf("%d entries", len(entries))
	}
	record := value(t, rdb.HGet(ctx, k.wins, "user-1"))
	_, ticket, _ := strings.Cut(record, " ")
	win := value(t, rdb.HGet(ctx, k.wins, "user-1\n"+ticket))
	first := value(t, rdb.LIndex(ctx, k.stock, 0)) // 3-19
	add := func(to *rds.XAddArgs) func() error {
		to.Stream = k.outbox
		return func() error { return rdb.XAdd(ctx, to).Err() }
	}
	for what, by := range map[string]struct {
		do   func() error
		name string
	}{
		"packets added to the stock": {
			func() error { return rdb.LPush(ctx, k.stock, "0-2").Err() },
			"can be won, but somebody has won",
		},
		"packets taken out of the stock": {
			func() error { return rdb.LSet(ctx, k.stock, 0, "4-19").Err() },
			"neither in its stock nor lent",
		},
		"packets doubled, and counted": {func() error {
			if err := rdb.LPush(ctx, k.stock, "10-12").Err(); err != nil {
				return err
			}
			return rdb.HIncrBy(ctx, k.state, "left", 3).Err()
		}, "twice in its stock"},
		"another stock": {
			func() error { return rdb.LSet(ctx, k.stock, 0, "all").Err() },
			"which no script has written",
		},
		"left": {
			func() error { return rdb.HIncrBy(ctx, k.state, "left", -1).Err() },
			"packets are left, but its stock has",
		},
		"won": {
			func() error { return rdb.HIncrBy(ctx, k.state, "won", 1).Err() },
			"are recorded for players",
		},
		"moves": {
			func() error { return rdb.HIncrBy(ctx, k.state, "moves", 1).Err() },
			"the rows have no move",
		},
		"status": {
			func() error { return rdb.HSet(ctx, k.state, "status", "paused").Err() },
			`status is "paused"`,
		},
		"closed": {func() error {
			return rdb.HSet(ctx, k.state, "status", "closed", "rev", "9007199254740991").Err()
		}, "its state says that it is closed"},
		"a revision to come": {
			func() error { return rdb.HIncrBy(ctx, k.state, "rev", 100).Err() },
			"its state is of revision",
		},
		"wins for everybody": {
			func() error { return rdb.HSet(ctx, k.state, "wins_per_user", 99).Err() },
			"wins_per_user",
		},
		"no state": {func() error { return rdb.Del(ctx, k.state).Err() }, "Redis has lost it"},
		"a win added": {func() error {
			return rdb.HSet(ctx, k.wins, "thief", "1 0.9", "thief\n0.9", "9 "+entries[0].ID+" ").Err()
		}, "player thief"},
		"a win removed": {
			func() error { return rdb.HDel(ctx, k.wins, "user-1", "user-1\n"+ticket).Err() },
			"Redis knows no such win",
		},
		"a win for another player": {func() error {
			if err := rdb.HDel(ctx, k.wins, "user-1", "user-1\n"+ticket).Err(); err != nil {
				return err
			}
			return rdb.HSet(ctx, k.wins, "thief", record, "thief\n"+ticket, win).Err()
		}, "Redis knows no such win"},
		"a win with another packet": {func() error {
			return rdb.HSet(ctx, k.wins, "user-1\n"+ticket, "19"+strings.TrimLeft(win, "0123456789")).Err()
		}, "player user-1"},
		"an entry deleted": {
			func() error { return rdb.XDel(ctx, k.outbox, entries[1].ID).Err() },
			"neither in an outbox nor in the ledger",
		},
		"an entry played again": {add(&rds.XAddArgs{Values: entries[0].Values}), "no script has written it"},
		"an entry added": {add(&rds.XAddArgs{Values: []string{"at", entries[0].Values["at"].(string), "packets",
			"19-19",
			"wins", "made-up 0.9 thief"}}), "no script has written it"},
		"an entry altered": {func() error { // all entries again, one of them with another player, as they were
			if err := rdb.XTrimMaxLen(ctx, k.outbox, 0).Err(); err != nil {
				return err
			}
			for i, e := range entries {
				if i == 0 {
					e.Values = map[string]any{"at": e.Values["at"], "packets": e.Values["packets"],
						"wins": strings.Replace(e.Values["wins"].(string), " user-0", " thief", 1)}
				}
				if i == 0 {
					if err := rdb.Del(ctx, k.outbox).Err(); err != nil {
						return err
					}
				}
				if err := rdb.XAdd(ctx, &rds.XAddArgs{Stream: k.outbox, ID: e.ID, Values: e.Values}).Err(); err != nil {
					return err
				}
			}
			return nil
		}, "player thief"},
		"no outbox": {
			func() error { return rdb.Del(ctx, k.outbox).Err() },
			"the newest entry that its scripts have written",
		},
		"a move made up": {
			func() error { return rdb.HSet(ctx, k.borrowed, "made up", 0).Err() },
			"there is no such move",
		},
		"a loan in words": {
			func() error { return rdb.HSet(ctx, k.lent, "made up", "all").Err() },
			"which no script has written",
		},
	} {
		before := heard.count("reconciliation", c.ID)
		if err := by.do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		wantNamed(t, n, c.ID, what, by.name)
		// Players' records are read with every row of the campaign, and not in each round.
		if !strings.HasPrefix(what, "a win ") {
			testenv.Eventually(t, 60*time.Second, what+": has an alarm",
				func() bool { return heard.count("reconciliation", c.ID) > before })
		}
		k.undo()
		testenv.Eventually(t, 60*time.Second, what+": undone", func() bool {
			code, _ := reconcile(n, c.ID)
			return code == cli.ExitOK
		})
	}
	if first != "3-19" {
		t.Errorf("the stock begins with %s", first)
	}

	startNode(t, s.config())
	awaitBooks(t, n.client, c.ID)
	var paid rain.Money
	for i, w := range won {
		if got := balanceOf(t, n, "user-"+string(rune('0'+i))); got != w.Amount {
			t.Errorf("user-%d won %d and has %d", i, w.Amount, got)
		}
		paid += w.Amount
	}
	if r, err := n.client.Reconciliation(within(t, 20*time.Second), c.ID); err != nil || r.Paid != paid {
		t.Errorf("%+v (%v), told are %d", r, err, paid)
	}

	// What cannot be undone is made anew from the ledger.
	for _, err := range []error{rdb.LPush(ctx, k.stock, "0-2").Err(), rdb.HSet(ctx, k.wins, "thief", "1 0.9").Err(),
		rdb.Del(ctx, k.state).Err()} {
		testenv.Must(t, err)
	}
	testenv.Must(t, testenv.Err(n.client.Rebuild(within(t, 30*time.Second), c.ID)))
	awaitBooks(t, n.client, c.ID)
}
