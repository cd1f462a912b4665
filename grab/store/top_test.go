package store_test

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestTop: players are ranked in any order, any number of times, and by several nodes at once. The board has the ten
// players who have won most, with all their winnings. No shard keeps more than it must.
func TestTop(t *testing.T) {
	t.Parallel()
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 200, Budget: 100_000, Shards: 3, Wins: 3,
			Split: rain.DoubleMean})
		testenv.Got(gm.G.Top(t.Context(), gm.C)).Want(t, nil, "before anybody has won")
		totals, early := map[string]rain.Money{}, map[string]rain.Money{}
		for p := range 40 {
			user := fmt.Sprint("player ", p)
			for i := range 1 + p%3 {
				totals[user] += gm.Want(user, gm.Drop(i), outcome.Won).Amount
			}
			if p%2 == 0 {
				rank(gm, gm.G, map[string]rain.Money{user: totals[user] / 2}) // before the last win
				rank(gm, gm.G, map[string]rain.Money{user: totals[user]})
				rank(gm, gm.G, map[string]rain.Money{user: totals[user] / 2}) // late: it lowers nothing
				early[user] = totals[user]
			}
		}
		wantTop(t, gm, early)
		var ranking sync.WaitGroup
		for _, g := range []*grabtest.Node{gm.Node(), gm.Node()} {
			ranking.Go(func() {
				for user, total := range totals {
					rank(gm, g, map[string]rain.Money{user: total, "who has not won": 0})
				}
			})
		}
		ranking.Wait()
		wantTop(t, gm, totals)
		for shard := range gm.C.Shards {
			if n := rdb.ZCard(t.Context(), gm.G.Keys(gm.C.ID, shard).Top).Val(); n > store.TopKept {
				t.Errorf("shard %d keeps %d players", shard, n)
			}
		}
	})
}

// TestRankingAsksTwice: to rank winners of many shards takes as many round trips as to rank one, since settlement
// waits for them.
func TestRankingAsksTwice(t *testing.T) {
	t.Parallel()
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 200, Shards: 8})
		homes := make([]store.Winners, gm.C.Shards)
		totals := map[string]rain.Money{}
		for p := range 40 {
			user := fmt.Sprint("player ", p)
			totals[user] = gm.Want(user, gm.Drop(0), outcome.Won).Amount
			shard := rain.HomeShard(user, gm.C.Shards)
			homes[shard] = store.Winners{Campaign: gm.C.ID, Shard: shard,
				Totals: append(homes[shard].Totals, store.Ranked{User: user, Amount: totals[user]})}
		}
		homes = slices.DeleteFunc(homes, func(w store.Winners) bool { return len(w.Totals) == 0 })
		const many = 1 << 40
		asked := &breaker{}
		asked.left.Store(many)
		rdb.AddHook(asked)
		testenv.Must(t, gm.G.Rank(t.Context(), homes))
		testenv.Equal(t, many-asked.left.Load(), 2, "round trips for %d shards", len(homes))
		wantTop(t, gm, totals)
	})
}

// TestTopAfterALoss: when a shard is restored, its old board in Redis is ignored. The new one follows from the wins.
func TestTopAfterALoss(t *testing.T) {
	t.Parallel()
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 60, Shards: 2, Wins: 2, Split: rain.DoubleMean})
		totals := map[string]rain.Money{}
		for p := range 20 {
			user := fmt.Sprint("player ", p)
			totals[user] = gm.Want(user, gm.Drop(0), outcome.Won).Amount
			rank(gm, gm.G, map[string]rain.Money{user: totals[user]})
		}
		wantTop(t, gm, totals)
		wins := [][]grabtest.Known{gm.Known(0), gm.Known(1)}
		gm.Lose()
		// One player's win is void: the board has it, and the ledger does not.
		void := slices.MaxFunc(wins[1], func(a, b grabtest.Known) int {
			return cmp.Compare(a.Win.Amount,
				b.Win.Amount)
		}).Win.User
		wins[1] = slices.DeleteFunc(wins[1], func(k grabtest.Known) bool { return k.Win.User == void })
		delete(totals, void)
		rdb.ZAdd(t.Context(), gm.G.Keys(gm.C.ID, 1).Top, redis.Z{Member: void, Score: 1_000_000})
		for shard := range 2 {
			r := gm.Restoration(shard, wins[shard])
			for _, k := range wins[shard] {
				r.Top = append(r.Top, store.Ranked{User: k.Win.User, Amount: totals[k.Win.User]})
			}
			testenv.Must(t, gm.G.Restore(t.Context(), gm.C, shard, r))
		}
		wantTop(t, gm, totals)
	})
}

// TestTopIsLetGo: the board expires with the rest of a campaign, even if the notice of a settlement comes late.
func TestTopIsLetGo(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Wins: 2})
		gm.Want("early", gm.Drop(0), outcome.Won)
		gm.Want("late", gm.Drop(0), outcome.Won)
		rank(gm, gm.G, map[string]rain.Money{"early": 5})
		testenv.Must(t, gm.C.Close(gm.Options.Clock()))
		gm.Apply()
		gm.Remove(gm.Read(100))
		testenv.Must(t, gm.G.Expire(t.Context(), gm.C, time.Hour))
		key := gm.G.Keys(gm.C.ID, 0).Top
		if left := rdb.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Hour {
			t.Errorf("the board stays for %s", left)
		}
		rdb.Del(t.Context(), key)
		rank(gm, gm.G, map[string]rain.Money{"late": 7})
		if left := rdb.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Hour {
			t.Errorf("a board that is made late stays for %s", left)
		}
		rdb.Del(t.Context(), gm.G.Keys(gm.C.ID, 0).Wins, key)
		rank(gm, gm.G, map[string]rain.Money{"late": 9})
		testenv.Equal(t, rdb.Exists(t.Context(), key).Val(), 0, "a board without wins, which never expires")
	})
}

// rank reports the players' total winnings to a node.
func rank(gm *grabtest.Game, g *grabtest.Node, totals map[string]rain.Money) {
	gm.T.Helper()
	for user, total := range totals {
		if err := g.Rank(gm.T.Context(), []store.Winners{{Campaign: gm.C.ID, Shard: rain.HomeShard(user, gm.C.Shards),
			Totals: []store.Ranked{{User: user, Amount: total}}}}); err != nil {
			gm.T.Error(err)
		}
	}
}

// wantTop compares the board with the players' wins.
func wantTop(t *testing.T, gm *grabtest.Game, totals map[string]rain.Money) {
	t.Helper()
	var want []store.Ranked
	for user, total := range totals {
		want = append(want, store.Ranked{User: user, Amount: total})
	}
	slices.SortFunc(want, func(a, b store.Ranked) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount),
			cmp.Compare(a.User, b.User))
	})
	got, err := gm.G.Top(t.Context(), gm.C)
	if err != nil || len(got) != store.TopKept {
		t.Fatalf("%d on the board, %v", len(got), err)
	}
	for i := range got {
		// Of those with the same amount as the tenth, any may be it.
		if got[i].Amount != want[i].Amount || totals[got[i].User] != got[i].Amount {
			t.Errorf("place %d: %v, want %v", i+1, got[i], want[i])
		}
	}
}
