package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/seal"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// hot is what the server reads Redis with.
type hot struct {
	*store.Sums
	*store.Wins
}

// TestARealRedis proves a campaign that the scripts have played, on a server, while stock moves; and finds what is
// changed there by hand.
func TestARealRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a Redis")
	}
	t.Parallel()
	rdb := grabtest.Connect(t, testenv.Redis(t))
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 60, Shards: 3, Wins: 10})
	b := booksOf(t, gm)
	told := paytest.Got(b.Campaign(t.Context(), gm.C.ID)).Must(t)
	paytest.Must(t, gm.G.Apply(t.Context(), told))
	redisHot := hot{store.NewSums(gm.G.Store), store.NewWins(gm.G.Store)}
	prove := func(what string) string {
		t.Helper()
		for _, depth := range []reconcile.Depth{reconcile.Sums, reconcile.Rows} {
			r, err := b.Proof.ReconcileWith(t.Context(), gm.C.ID, redisHot, depth)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if !r.Balanced || depth == reconcile.Rows {
				return strings.Join(r.Findings, "\n")
			}
		}
		return ""
	}
	balanced := func(what string) {
		t.Helper()
		paytest.Want(t, prove(what), "", what)
	}
	settle := func(shard int) {
		entries, _, err := gm.G.Page(t.Context(), gm.C.ID, shard, "", 5)
		paytest.Must(t, err)
		b.MustPost(t, entries...)
		balanced("settled, and still in the outbox")
		paytest.Must(t, gm.G.Remove(t.Context(), grabtest.Refs(entries)))
	}
	balanced("stocked")
	gm.Fill(12)
	balanced("won")
	settle(0)
	lent := paytest.Got(gm.G.Lend(t.Context(), gm.C.ID, 1, 0, "move", 5)).Must(t)
	balanced("lent")
	paytest.Must(t, b.Moves.Write(t.Context(), gm.C.ID, 1, *lent))
	balanced("written")
	number := paytest.Got(gm.G.Borrow(t.Context(), gm.C.ID, *lent)).Must(t)
	balanced("borrowed")
	paytest.Must(t, b.Moves.Done(t.Context(), "move", number))
	balanced("done")
	paytest.Must(t, gm.G.Moves.Done(t.Context(), gm.C.ID, 1, "move"))
	balanced("moved")
	gm.Want("filler 0", gm.Drop(1), outcome.Won)
	balanced("won twice")

	k := gm.G.Keys(gm.C.ID, 1)
	keys := []string{k.State, k.Stock, k.Wins, k.Outbox, k.Lent, k.Borrowed}
	dumps := make([]string, len(keys))
	for i, key := range keys {
		dumps[i] = rdb.Dump(t.Context(), key).Val()
	}
	oldest := rdb.XRangeN(t.Context(), k.Outbox, "-", "+", 1).Val()[0]
	again := func(id string) *redis.XAddArgs {
		return &redis.XAddArgs{Stream: k.Outbox, ID: id, Values: oldest.Values}
	}
	var win string // a field of the wins
	for field := range rdb.HGetAll(t.Context(), k.Wins).Val() {
		if strings.Contains(field, "\n") {
			win = field
		}
	}
	player, _, _ := strings.Cut(win, "\n")
	restore := func() {
		t.Helper()
		for i, key := range keys {
			if dumps[i] == "" {
				paytest.Must(t, rdb.Del(t.Context(), key).Err())
				continue
			}
			paytest.Must(t, rdb.RestoreReplace(t.Context(), key, 0, dumps[i]).Err())
		}
	}
	for what, d := range map[string]struct {
		do   func() error
		want string
	}{
		"a range into the stock": {func() error { return rdb.LPush(t.Context(), k.Stock, "0-3").Err() },
			"packets 0 to 3 are in its stock, but by the split and the moves the shard has no such packets"},
		"a range out of the stock": {func() error { return rdb.LPop(t.Context(), k.Stock).Err() }, "neither in its " +
			"stock " +
			"nor lent"},
		"words in the stock": {func() error { return rdb.LPush(t.Context(), k.Stock, "all").Err() },
			`shard 1: the stock has "all", which no script has written`},
		"left": {func() error { return rdb.HIncrBy(t.Context(), k.State, "left", 1).Err() }, "packets are left, but " +
			"its stock has"},
		"a packet twice": {func() error { return rdb.LPush(t.Context(), k.Stock, "30-31").Err() },
			"twice in its stock"},
		"ranges that overlap, and left too": {func() error {
			paytest.Must(t, rdb.LPush(t.Context(), k.Stock, "33-35").Err())
			return rdb.HIncrBy(t.Context(), k.State, "left", 3).Err()
		}, "twice in its stock"},
		"a packet less, and left too": {func() error {
			paytest.Must(t, rdb.LPop(t.Context(), k.Stock).Err())
			paytest.Must(t, rdb.LPush(t.Context(), k.Stock, "31-35").Err())
			return rdb.HSet(t.Context(), k.State, "left", 5).Err()
		}, "neither in its stock nor lent"},
		"status": {func() error { return rdb.HSet(t.Context(), k.State, "status", "paused").Err() },
			`the state's status is "paused"`},
		"closed for good": {func() error {
			return rdb.HSet(t.Context(), k.State, "status", "closed", "rev", "9007199254740991").Err()
		}, "its state says that it is closed, but the campaign is open"},
		"a revision to come": {func() error { return rdb.HSet(t.Context(), k.State, "rev", 99).Err() },
			"its state is of revision 99"},
		"more wins for each": {func() error { return rdb.HSet(t.Context(), k.State, "wins_per_user", 99).Err() },
			`wins_per_user is "99"`},
		"a longer rain": {func() error { return rdb.HSet(t.Context(), k.State, "closes", 1<<50).Err() },
			"the state's closes"},
		"what has come": {func() error { return rdb.HSet(t.Context(), k.Borrowed, "x", 1).Err() },
			`move "x" has come to it, but there is no such move`},
		"what has come, in words": {func() error { return rdb.HSet(t.Context(), k.Borrowed, "x", "all").Err() },
			`move "x" has come to it, but there is no such move`},
		"a win for another player": {func() error {
			thief := paytest.Home("thief", 1, 3)
			record, _, _ := strings.Cut(rdb.HGet(t.Context(), k.Wins, win).Val(), "\n")
			paytest.Must(t, rdb.HDel(t.Context(), k.Wins, win, player).Err())
			_, ticket, _ := strings.Cut(win, "\n")
			return rdb.HSet(t.Context(), k.Wins, thief, "1 "+ticket, thief+"\n"+ticket, record).Err()
		}, "in the outbox, but Redis knows no such win"},
		"a win more, and all counts": {func() error {
			thief := paytest.Home("thief", 1, 3)
			paytest.Must(t, rdb.HIncrBy(t.Context(), k.State, "won", 1).Err())
			return rdb.HSet(t.Context(), k.Wins, thief, "1 0.7", thief+"\n0.7", "34 "+oldest.ID+" ").Err()
		}, "player thief"},
		"won": {func() error { return rdb.HIncrBy(t.Context(), k.State, "won", 1).Err() }, "are recorded for players"},
		"moves": {func() error { return rdb.HIncrBy(t.Context(), k.State, "moves", 1).Err() }, "the rows have no " +
			"move " +
			"with its number 2"},
		"epoch": {func() error { return rdb.HSet(t.Context(), k.State, "epoch", 5).Err() }, "Redis has gone back in " +
			"time"},
		"no number": {func() error { return rdb.HSet(t.Context(), k.State, "won", "x").Err() },
			`the state's won is "x"`},
		"no state":  {func() error { return rdb.Del(t.Context(), k.State).Err() }, "shard 1: Redis has lost it"},
		"no outbox": {func() error { return rdb.Del(t.Context(), k.Outbox).Err() }, `but the outbox says ""`},
		"an entry": {func() error { return rdb.XDel(t.Context(), k.Outbox, oldest.ID).Err() }, "neither in an " +
			"outbox nor " +
			"in the ledger"},
		"once more": {func() error { return rdb.XAdd(t.Context(), again("*")).Err() }, "no script has written it"},
		"unreadable": {func() error {
			return rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: k.Outbox, Values: []string{"a", "b"}}).Err()
		},
			"it cannot be read, and may be anybody's money"},
		"once more, as the state says": {func() error {
			id := paytest.Got(rdb.XAdd(t.Context(), again("*")).Result()).Must(t)
			return rdb.HSet(t.Context(), k.State, "last", id).Err()
		}, "twice won in its outbox"},
		"a win": {func() error { return rdb.HDel(t.Context(), k.Wins, win).Err() }, "has no such win"},
		"a win's packet": {func() error { return rdb.HSet(t.Context(), k.Wins, win, "59 "+oldest.ID+" ").Err() },
			"shard " +
				"1 has no such packet"},
		"words in a win": {func() error { return rdb.HSet(t.Context(), k.Wins, win, "all").Err() },
			`is "all", which no script has written`},
		"a count": {func() error { return rdb.HSet(t.Context(), k.Wins, player, "9 0.0").Err() }, "Redis says " +
			"that player " + player + " has won 9"},
		"what is lent": {func() error { return rdb.HSet(t.Context(), k.Lent, "x", "0 3 0 30-31").Err() }, "it has " +
			"made " +
			"moves up to number 1"},
		"lent in words": {func() error { return rdb.HSet(t.Context(), k.Lent, "x", "all").Err() },
			`move x is lent as "all"`},
		"too many wins": {func() error { return rdb.HSet(t.Context(), k.Wins, player, "11 0.0").Err() }, "has won 11 " +
			"packets, but they may win 10"},
		"another newest": {func() error { return rdb.HSet(t.Context(), k.Wins, player, "1 9.9").Err() }, "has won " +
			"with " +
			"drop 9.9, but has no such win"},
		"a later win": {func() error { return rdb.HSet(t.Context(), k.Wins, "x\n0.1", "30 9999999999999-0 ").Err() },
			"the newest entry that the shard has ever written"},
		"stock that went": {func() error { return rdb.RPush(t.Context(), k.Stock, "20-20").Err() }, "its stock says " +
			"that " +
			"it gave back packet 20"},
	} {
		paytest.Must(t, d.do())
		if found := prove(what); !strings.Contains(found, d.want) {
			t.Errorf("%s: %q is missing in\n%s", what, d.want, found)
		}
		restore()
	}
	balanced("all undone")

	// What nobody can read of one shard is named, and what is changed of another one is not hidden by it.
	other := gm.G.Keys(gm.C.ID, 2).State
	blind := map[string]func() error{
		"too many ranges": func() error {
			return rdb.LPush(t.Context(), k.Stock, slices.Repeat([]any{"30-30"}, 10_001)...).Err()
		},
	}
	for _, key := range keys {
		blind[key] = func() error { return rdb.Set(t.Context(), key, "x", 0).Err() }
	}
	for what, do := range blind {
		paytest.Must(t, do())
		paytest.Must(t, rdb.HIncrBy(t.Context(), other, "left", 1).Err())
		found := prove(what)
		named := strings.Contains(found, "shard 1: what Redis has of it cannot be read") ||
			strings.Contains(found, "shard 1: the stock is in more than")
		if !named || !strings.Contains(found, "shard 2: ") {
			t.Errorf("%s: the findings are %s", what, found)
		}
		paytest.Must(t, rdb.HIncrBy(t.Context(), other, "left", -1).Err())
		restore()
	}
	balanced("all can be read again")

	// To the end: closed, given back.
	b.CloseCampaign(t, gm.C.ID)
	paytest.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
	balanced("closed")
	for range 5 {
		for shard := range gm.C.Shards {
			settle(shard)
		}
	}
	balanced("given back")
}

// booksOf is a ledger that knows the campaign of a game, and its seals.
func booksOf(t *testing.T, gm *grabtest.Game) *paytest.Books {
	t.Helper()
	b := paytest.OnSQLite(t)
	secret := seal.Secret{1, 2, 3} // of grabtest.Ring
	paytest.Must(t, testenv.Err(b.DB.Exec(t.Context(), "UPDATE seal_key SET secret = ?", secret[:])))
	paytest.Must(t, b.Seals.Load(t.Context()))
	paytest.Must(t, testenv.Err(b.Deposit(t.Context(), gm.C.Sponsor, "for the game", gm.C.Budget)))
	c := gm.C.Clone()
	c.Status, c.Rains = rain.Loading, nil
	paytest.Must(t, b.CreateCampaign(t.Context(), c))
	paytest.Must(t, testenv.Err(b.Update(t.Context(), c.ID, func(c *rain.Campaign) error {
		c.Stocked()
		c.Rains = slices.Clone(gm.C.Rains)
		return nil
	})))
	return b
}
