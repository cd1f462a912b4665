package grab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// TestTop: whoever is ranked in whatever order and however often, and by several nodes at once, the ten who have
// won most are told, with all that they have won; and no shard keeps more than it must.
func TestTop(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 200, budget: 100_000, shards: 3, wins: 3, split: rain.DoubleMean})
			if top, err := gm.g.Top(t.Context(), gm.c); err != nil || len(top) != 0 {
				t.Errorf("before anybody has won: %v, %v", top, err)
			}
			totals := map[string]rain.Money{}
			for p := range 40 {
				user := fmt.Sprint("player ", p)
				for i := range 1 + p%3 {
					totals[user] += gm.want(user, gm.drop(i), Won).Amount
				}
				if p%2 == 0 {
					gm.rank(gm.g, user)
				}
			}
			var ranking sync.WaitGroup
			for _, g := range []*Grabber{gm.node(), gm.node()} {
				ranking.Go(func() {
					for user := range totals {
						gm.rank(g, user, "who has not won")
					}
				})
			}
			ranking.Wait()
			gm.wantTop(t, totals)
			for shard := range gm.c.Shards {
				if n := rdb.ZCard(t.Context(), gm.g.keys.shard(gm.c.ID, shard).top).Val(); n > topKept {
					t.Errorf("shard %d keeps %d players", shard, n)
				}
			}
		})
	}
}

// TestRankingAsksTwice: to rank winners of many shards takes as many round trips as to rank one, since settlement
// waits for them.
func TestRankingAsksTwice(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 200, shards: 8})
			homes := make([]Winners, gm.c.Shards)
			totals := map[string]rain.Money{}
			for p := range 40 {
				user := fmt.Sprint("player ", p)
				totals[user] = gm.want(user, gm.drop(0), Won).Amount
				shard := rain.HomeShard(user, gm.c.Shards)
				homes[shard] = Winners{gm.c.ID, shard, append(homes[shard].Users, user)}
			}
			homes = slices.DeleteFunc(homes, func(w Winners) bool { return len(w.Users) == 0 })
			broken := homes[0].Users[0] // keeps nobody else from their place
			if err := rdb.HSet(t.Context(), gm.g.keys.shard(gm.c.ID, homes[0].Shard).wins, broken,
				"?").Err(); err != nil {
				t.Fatal(err)
			}
			delete(totals, broken)
			asked := &trips{}
			rdb.AddHook(asked)
			if err := gm.g.Rank(t.Context(), homes); err == nil || !strings.Contains(err.Error(), broken) {
				t.Errorf("wins that cannot be read: %v", err)
			}
			if n := asked.n.Swap(-1 << 30); n != 2 {
				t.Errorf("%d round trips for %d shards", n, len(homes))
			}
			gm.wantTop(t, totals)
		})
	}
}

// trips counts what is asked of Redis.
type trips struct{ n atomic.Int64 }

func (c *trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}

// TestTopNeverFalls: whoever has read a total before the player's last win, and comes with it after one who has
// read it since, lowers nothing.
func TestTopNeverFalls(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{})
			k := gm.g.keys.shard(gm.c.ID, 0)
			for _, total := range []float64{70, 50} {
				if err := gm.g.enterNow(t.Context(), k, []redis.Z{{Score: total, Member: "u"}}); err != nil {
					t.Fatal(err)
				}
			}
			if top, err := gm.g.Top(t.Context(), gm.c); err != nil || len(top) != 1 || top[0] != (Ranked{"u", 70}) {
				t.Errorf("%v, %v", top, err)
			}
		})
	}
}

// TestTopAfterALoss: what Redis has kept of the board is not believed when a shard is restored. It is what the wins
// say.
func TestTopAfterALoss(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 60, shards: 2, wins: 2, split: rain.DoubleMean})
			totals := map[string]rain.Money{}
			for p := range 20 {
				user := fmt.Sprint("player ", p)
				totals[user] = gm.want(user, gm.drop(0), Won).Amount
				gm.rank(gm.g, user)
			}
			gm.wantTop(t, totals)
			wins := [][]known{gm.known(0), gm.known(1)}
			gm.lose()
			// One player's win is void: the ledger had not heard of it, and the board has.
			void := slices.MaxFunc(wins[1], func(a, b known) int {
				return cmp.Compare(a.win.Amount,
					b.win.Amount)
			}).win.User
			wins[1] = slices.DeleteFunc(wins[1], func(k known) bool { return k.win.User == void })
			delete(totals, void)
			rdb.ZAdd(t.Context(), gm.g.keys.shard(gm.c.ID, 1).top, redis.Z{Member: void, Score: 1_000_000})
			for shard := range 2 {
				if err := gm.g.Restore(t.Context(), gm.c, shard, gm.restoration(shard, wins[shard])); err != nil {
					t.Fatal(err)
				}
			}
			gm.wantTop(t, totals)
		})
	}
}

// TestTopIsLetGo: the board is gone with the rest of a campaign, also when a settlement is heard of late.
func TestTopIsLetGo(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{wins: 2})
			gm.want("early", gm.drop(0), Won)
			gm.want("late", gm.drop(0), Won)
			gm.rank(gm.g, "early")
			if err := gm.c.Close(gm.options.Clock()); err != nil {
				t.Fatal(err)
			}
			gm.apply()
			gm.remove(gm.read("a", 100))
			if err := gm.g.Expire(t.Context(), gm.c, time.Hour); err != nil {
				t.Fatal(err)
			}
			key := gm.g.keys.shard(gm.c.ID, 0).top
			if left := rdb.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Hour {
				t.Errorf("the board stays for %s", left)
			}
			rdb.Del(t.Context(), key)
			gm.rank(gm.g, "late")
			if left := rdb.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Hour {
				t.Errorf("a board that is made late stays for %s", left)
			}
			rdb.Del(t.Context(), gm.g.keys.shard(gm.c.ID, 0).wins, key)
			gm.rank(gm.g, "late")
			if n := rdb.Exists(t.Context(), key).Val(); n != 0 {
				t.Error("a board without wins")
			}
		})
	}
}

func (gm *game) rank(g *Grabber, users ...string) {
	gm.t.Helper()
	for _, user := range users {
		if err := g.Rank(gm.t.Context(), []Winners{{gm.c.ID, rain.HomeShard(user, gm.c.Shards),
			[]string{user}}}); err != nil {
			gm.t.Error(err)
		}
	}
}

// wantTop holds the board to what the players have won.
func (gm *game) wantTop(t *testing.T, totals map[string]rain.Money) {
	t.Helper()
	var want []Ranked
	for user, total := range totals {
		want = append(want, Ranked{user, total})
	}
	slices.SortFunc(want, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount),
			cmp.Compare(a.User, b.User))
	})
	got, err := gm.g.Top(t.Context(), gm.c)
	if err != nil || len(got) != topKept {
		t.Fatalf("%d on the board, %v", len(got), err)
	}
	for i := range got {
		// Of those with the same amount as the tenth, any may be it.
		if got[i].Amount != want[i].Amount || totals[got[i].User] != got[i].Amount {
			t.Errorf("place %d: %v, want %v", i+1, got[i], want[i])
		}
	}
}
