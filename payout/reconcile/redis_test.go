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

// hot is the server's reader of Redis.
type hot struct {
	*store.Sums
	*store.Wins
}

// TestARealRedis reconciles a campaign that the scripts have played, on a server, while stock moves, and finds edits
// in Redis.
func TestARealRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a Redis")
	}
	t.Parallel()
	rdb := grabtest.Connect(t, testenv.Redis(t))
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 60, Shards: 3, Wins: 10})
	b := booksOf(t, gm)
	told := testenv.Got(b.Campaign(t.Context(), gm.C.ID)).Must(t)
	testenv.Must(t, gm.G.Apply(t.Context(), told))
	redisHot := hot{store.NewSums(gm.G.Store), store.NewWins(gm.G.Store)}
	prove := func(what string) string {
		t.Helper()
		for _, depth := range []reconcile.Depth{reconcile.Sums, reconcile.Rows} {
			r, err := b.Proof.ReconcileCampaign(t.Context(), gm.C.ID, redisHot, depth)
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
		testenv.Equal(t, prove(what), "", "%s", what)
	}
	settle := func(shard int) {
		entries := testenv.Got3(gm.G.Page(t.Context(), gm.C.ID, shard, "", 5)).Must(t)
		b.MustPost(t, entries...)
		balanced("settled, and still in the outbox")
		testenv.Must(t, gm.G.Remove(t.Context(), grabtest.Refs(entries)))
	}
	balanced("stocked")
	gm.Fill(12)
	balanced("won")
	settle(0)
	lent := testenv.Got(gm.G.Lend(t.Context(), gm.C.ID, 1, 0, "move", 5)).Must(t)
	balanced("lent")
	testenv.Must(t, b.Moves.Write(t.Context(), gm.C.ID, 1, *lent))
	balanced("written")
	number := testenv.Got(gm.G.Borrow(t.Context(), gm.C.ID, *lent)).Must(t)
	balanced("borrowed")
	testenv.Must(t, b.Moves.Done(t.Context(), "move", number))
	balanced("done")
	testenv.Must(t, gm.G.Moves.Done(t.Context(), gm.C.ID, 1, "move"))
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
	again := &redis.XAddArgs{Stream: k.Outbox, ID: "*", Values: oldest.Values}
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
				testenv.Must(t, rdb.Del(t.Context(), key).Err())
				continue
			}
			testenv.Must(t, rdb.RestoreReplace(t.Context(), key, 0, dumps[i]).Err())
		}
	}
	// run sends commands, separated by ";". The parts of one are separated by "|". The second part is a key of shard 1.
	names := map[string]string{"state": k.State, "stock": k.Stock, "wins": k.Wins, "outbox": k.Outbox, "lent": k.Lent,
		"borrowed": k.Borrowed}
	run := func(commands string) func() error {
		return func() error {
			for command := range strings.SplitSeq(commands, ";") {
				var args []any
				for n, arg := range strings.Split(command, "|") {
					if n == 1 {
						arg = names[arg]
					}
					args = append(args, arg)
				}
				testenv.Must(t, rdb.Do(t.Context(), args...).Err())
			}
			return nil
		}
	}
	thief := paytest.Home("thief", 1, 3)
	record, _, _ := strings.Cut(rdb.HGet(t.Context(), k.Wins, win).Val(), "\n")
	_, ticket, _ := strings.Cut(win, "\n")
	for what, d := range map[string]struct {
		do   func() error
		want string
	}{
		"a range into the stock": {run("LPUSH|stock|0-3"),
			"packets 0 to 3 are in its stock, but by the split and the moves the shard has no such packets"},
		"a range out of the stock": {run("LPOP|stock"), "neither in its stock nor lent"},
		"words in the stock": {run("LPUSH|stock|all"),
			`shard 1: the stock has "all", which no script has written`},
		"left":           {run("HINCRBY|state|left|1"), "packets are left, but its stock has"},
		"a packet twice": {run("LPUSH|stock|30-31"), "twice in its stock"},
		"ranges that overlap, and left too": {run("LPUSH|stock|33-35;HINCRBY|state|left|3"),
			"twice in its stock"},
		"a packet less, and left too": {run("LPOP|stock;LPUSH|stock|31-35;HSET|state|left|5"),
			"neither in its stock nor lent"},
		"status": {run("HSET|state|status|paused"), `the state's status is "paused"`},
		"closed for good": {run("HSET|state|status|closed|rev|9007199254740991"),
			"its state says that it is closed, but the campaign is open"},
		"a revision to come": {run("HSET|state|rev|99"), "its state is of revision 99"},
		"more wins for each": {run("HSET|state|wins_per_user|99"), `wins_per_user is "99"`},
		"a longer rain":      {run("HSET|state|closes|1125899906842624"), "the state's closes"},
		"a win for another player": {run("HDEL|wins|" + win + "|" + player + ";HSET|wins|" + thief + "|1 " + ticket +
			"|" + thief + "\n" + ticket + "|" + record), "in the outbox, but Redis knows no such win"},
		"a win more, and all counts": {run("HINCRBY|state|won|1;HSET|wins|" + thief + "|1 0.7|" + thief + "\n0.7|34 " +
			oldest.ID + " "), "player thief"},
		"won":       {run("HINCRBY|state|won|1"), "are recorded for players"},
		"epoch":     {run("HSET|state|epoch|5"), "Redis has gone back in time"},
		"no number": {run("HSET|state|won|x"), `the state's won is "x"`},
		"no state":  {run("DEL|state"), "shard 1: Redis has lost it"},
		"no outbox": {run("DEL|outbox"), `but the outbox says ""`},
		"an entry":  {run("XDEL|outbox|" + oldest.ID), "neither in an outbox nor in the ledger"},
		"once more": {func() error { return rdb.XAdd(t.Context(), again).Err() }, "no script has written it"},
		"unreadable": {run("XADD|outbox|*|a|b"),
			"it cannot be read, and may be anybody's money"},
		"once more, as the state says": {func() error {
			id := testenv.Got(rdb.XAdd(t.Context(), again).Result()).Must(t)
			return rdb.HSet(t.Context(), k.State, "last", id).Err()
		}, "twice won in its outbox"},
		"a win":          {run("HDEL|wins|" + win), "Redis knows no such win"},
		"a win's packet": {run("HSET|wins|" + win + "|59 " + oldest.ID + " "), "shard 1 has no such packet"},
		"words in a win": {run("HSET|wins|" + win + "|all"), `is "all", which no script has written`},
		"what is lent":   {run("HSET|lent|x|0 3 0 30-31"), "by the split and the moves the shard has no such packets"},
		"lent in words":  {run("HSET|lent|x|all"), `move x is lent as "all"`},
		"a later win": {run("HSET|wins|x\n0.1|30 9999999999999-0 "),
			"the newest entry that the shard has ever written"},
	} {
		testenv.Must(t, d.do())
		if found := prove(what); !strings.Contains(found, d.want) {
			t.Errorf("%s: %q is missing in\n%s", what, d.want, found)
		}
		restore()
	}
	balanced("all undone")

	// Invalid data of one shard is named, and does not hide an edit of another one.
	other := gm.G.Keys(gm.C.ID, 2).State
	blind := map[string]func() error{"too many ranges": run("LPUSH|stock" + strings.Repeat("|30-30", 10_001))}
	delete(names, "borrowed") // which is read only while a move is in flight
	for name := range names {
		blind[name] = run("SET|" + name + "|x")
	}
	for what, do := range blind {
		testenv.Must(t, do())
		testenv.Must(t, rdb.HIncrBy(t.Context(), other, "left", 1).Err())
		found := prove(what)
		named := strings.Contains(found, "shard 1: what Redis has of it cannot be read") ||
			strings.Contains(found, "shard 1: the stock is in more than")
		if !named || !strings.Contains(found, "shard 2: ") {
			t.Errorf("%s: the findings are %s", what, found)
		}
		testenv.Must(t, rdb.HIncrBy(t.Context(), other, "left", -1).Err())
		restore()
	}
	balanced("all can be read again")

	// The end: closed and reclaimed.
	b.CloseCampaign(t, gm.C.ID)
	testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
	balanced("closed")
	for range 5 {
		for shard := range gm.C.Shards {
			settle(shard)
		}
	}
	balanced("given back")
}

// booksOf makes a ledger with the campaign of a game, and its seals.
func booksOf(t *testing.T, gm *grabtest.Game) *paytest.Books {
	t.Helper()
	b := paytest.OnSQLite(t)
	secret := seal.Secret{1, 2, 3} // of grabtest.Ring
	testenv.Must(t, testenv.Err(b.DB.Exec(t.Context(), "UPDATE seal_key SET secret = ?", secret[:])))
	testenv.Must(t, b.Seals.Load(t.Context()))
	testenv.Must(t, testenv.Err(b.Deposit(t.Context(), gm.C.Sponsor, "for the game", gm.C.Budget)))
	c := gm.C.Clone()
	c.Status, c.Rains = rain.Loading, nil
	testenv.Must(t, b.CreateCampaign(t.Context(), c))
	testenv.Must(t, testenv.Err(b.Update(t.Context(), c.ID, func(c *rain.Campaign) error {
		c.Stocked()
		c.Rains = slices.Clone(gm.C.Rains)
		return nil
	})))
	return b
}
