package confirm_test

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestWhatIsPublishedIsWhatTheOutboxHolds(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm, to := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 6, Wins: 2, Split: rain.DoubleMean})
		a, b, c := gm.Drop(0), gm.Drop(1), gm.Drop(2)
		// Players with two drops, with the same drop twice, and some players who are too late.
		first := gm.BatchOf([2]string{"张 三", a}, [2]string{"p", a})
		for _, tap := range [][2]string{{"p", b}, {"p", a}, {"p", c}} {
			first = append(first, gm.BatchOf(tap)...)
		}
		for i, want := range []outcome.Outcome{outcome.Won, outcome.Won, outcome.Won, outcome.Won,
			outcome.Already} {
			testenv.Equal(t, first[i].Outcome, want, "tap %d: %v", i, first[i])
		}
		gm.BatchOf([2]string{"q", a}, [2]string{"张 三", a}, [2]string{"r", a})
		for _, user := range []string{"s", "t", "u"} {
			gm.Tap(user, a)
		}
		outbox := inOutbox(gm)
		again := 2 // entries that are asked for by a tap that has won before, and are published once more
		testenv.Equal(t, len(to.Entries()), len(outbox)+again, "published entries, of %d in Redis", len(outbox))
		testenv.Equal(t, gm.Read(100), outbox, "read, and in the outbox")
		byRef := map[string]rain.Entry{}
		for _, e := range outbox {
			byRef[e.Ref.String()] = e
		}
		for _, e := range published(to) {
			testenv.Equal(t, e, byRef[e.Ref.String()], "published, and in the outbox")
		}
		testenv.Equal(t, len(gm.Wins()), 6, "wins")
	})
}

// inOutbox returns the entries of the outbox as a relay reads them: without amounts.
func inOutbox(gm *grabtest.Game) []rain.Entry { return withoutAmounts(gm.Outbox()) }

// published returns the entries of the stream as they were published: without amounts.
func published(to *grabtest.Stream) []rain.Entry { return withoutAmounts(to.Entries()) }

func withoutAmounts(entries []rain.Entry) []rain.Entry {
	for i := range entries {
		entries[i].Epoch = 0
		for j := range entries[i].Wins {
			entries[i].Wins[j].Amount = 0
		}
	}
	return entries
}

func TestAWinIsToldWhenTheStreamHasIt(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		var left atomic.Int64
		gm, to := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 3, Options: func(o *grabtest.Options) {
			o.OnWin = func(*rain.Entry) { left.Add(1) }
		}})
		drop := gm.Drop(0)
		to.Refuse(true)
		gm.Want("p", drop, outcome.Unavailable)
		if left.Load() != 0 || len(gm.Wins()) != 1 {
			t.Errorf("%d entries sent of %d unconfirmed wins", left.Load(), len(gm.Wins()))
		}
		testenv.Equal(t, gm.Confirmed("p"), nil, "wins that the stream does not have")
		gm.Want("p", drop, outcome.Unavailable) // it was not remembered
		gm.WantOn(gm.Node().Gate(gm.C), "p", drop, outcome.Unavailable)

		to.Refuse(false)
		won := gm.UntilWon("p", drop) // taps behind a batch that is still failing fail with it
		testenv.Equal(t, published(to), inOutbox(gm), "published, and in the outbox")
		want := []rain.Win{{User: "p", Packet: won.Packet, Amount: won.Amount, Drop: drop}}
		testenv.Equal(t, gm.Confirmed("p"), want, "confirmed")
		// Entries that the ledger has settled need no stream any more.
		gm.Remove(gm.Read(10))
		to.Refuse(true)
		testenv.Equal(t, grabtest.TapOn(gm.Node().Gate(gm.C), "p", drop), won, "settled, and on another node")
		testenv.Equal(t, gm.Confirmed("p"), want, "settled, and confirmed")
		testenv.Equal(t, gm.Confirmed("nobody"), nil, "no win")
		gm.Want("q", drop, outcome.Unavailable)
		testenv.Equal(t, len(testenv.Got(gm.Held("q")).Must(t)), 1, "wins")
	})
}

// Redis loses its memory between the acknowledgement and the answer: a rebuild may have counted before the win came
// to the stream.
func TestAWinThatRedisForgotIsNotTold(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm, to := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 3})
		lose, drop := gm.Lose, gm.Drop(0)
		to.After = lose
		gm.Want("p", drop, outcome.Unavailable)
		if n := len(to.Entries()); n != 1 {
			t.Fatalf("%d entries were published", n)
		}

		epochs := int64(0)
		rebuild := func(wins ...grabtest.Known) {
			epochs++
			what := gm.Restoration(0, wins)
			what.Claim = testenv.Got(gm.G.BeginRebuild(context.Background(), gm.C.ID, 0)).Must(t).Claim
			what.Barrier = fmt.Sprintf("%d-0", gm.Options.Clock()+epochs*60_000)
			testenv.WantErr(t, gm.G.Restore(context.Background(), gm.C, 0, what), nil)
			gm.Apply()
		}
		then := func(after func()) {
			to.Mu.Lock()
			defer to.Mu.Unlock()
			to.After = after
		}
		// A rebuild that read the stream before: the win is missing, and its packet belongs to another player.
		rebuild()
		then(func() { lose(); rebuild() })
		gm.Want("q", drop, outcome.Unavailable)
		// A rebuild reads the stream afterwards. The win is there, and the next tap confirms it under the new epoch.
		then(func() {
			lose()
			all := to.Entries()
			last := all[len(all)-1]
			rebuild(grabtest.Known{Win: last.Wins[0], Entry: last.Ref})
		})
		gm.Want("r", drop, outcome.Unavailable)
		then(nil)
		won := gm.UntilWon("r", drop) // a tap that comes behind a batch that is still failing fails with it
		if r := grabtest.TapOn(gm.Node().Gate(gm.C), "r", drop); r != won || won.Packet != 0 {
			t.Errorf("%v and %v, want packet 0 both times", won, r)
		}
		gm.Want("q", drop, outcome.Won)
	})
}

// If an answer is lost, go-redis repeats the call. The script then returns its first decision, so this node sees old
// wins.
func TestALostAnswerIsConfirmedToo(t *testing.T) {
	cut := grabtest.NewCutter(t, testenv.Redis(t))
	gm, to := grabtest.Streaming(t, grabtest.Connect(t, cut.Addr()), grabtest.Setup{Packets: 10})
	cut.LoseAnswer()
	gm.Want("p", gm.Drop(0), outcome.Won)
	testenv.Equal(t, cut.Lost(), 1, "lost answers")
	if got, outbox := published(to), inOutbox(gm); !reflect.DeepEqual(got, outbox) || len(outbox) != 1 {
		t.Errorf("published %+v, the outbox holds %+v", got, outbox)
	}
}

// If an entry is unreadable, its player is not notified. The other players do not wait for it.
func TestAWinWhoseEntryCannotBeReadIsNotTold(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm, to := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 10})
		drop := gm.Drop(0)
		to.Refuse(true)
		gm.Want("p", drop, outcome.Unavailable)
		to.Refuse(false)
		entry, k := gm.Outbox()[0], gm.G.Keys(gm.C.ID, 0)
		// Its record points to an entry of another kind.
		id := testenv.Got(rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: k.Outbox,
			Values: []string{"at", "1", "packets", "eleven", "wins", "seal 0.0 p"}}).Result()).Must(t)
		text := grabtest.RecordText(entry.Wins[0], id)
		testenv.Must(t, rdb.HSet(t.Context(), k.Wins, "p\n"+drop, text).Err())
		results := gm.BatchOf([2]string{"p", drop}, [2]string{"q", drop})
		if results[0].Outcome != outcome.Unavailable || results[1].Outcome != outcome.Won {
			t.Errorf("%v, want unavailable and won", results)
		}
		testenv.Equal(t, gm.Confirmed("p"), nil, "told")
	})
}

// The nodes had --confirm redis for a while, and a shard was rebuilt meanwhile on the same Redis. With --confirm stream
// again, its master has no claim, though it holds the stream's newest record. The shard is rebuilt, and nothing waits.
func TestTheModeWasAnotherForAWhile(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm, to := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 10})
	gm.G.Heed(&others{sees: true})
	gm.UntilWon("a", gm.Drop(0))
	ctx := t.Context()
	node := func(mode confirm.Mode) *grabtest.Node {
		o := gm.Options
		o.Confirm, o.Publisher = mode, to
		n := grabtest.NewNode(rdb, o)
		t.Cleanup(n.Close)
		n.Heed(&others{sees: true})
		return n
	}
	rebuild := func(n *grabtest.Node) {
		t.Helper()
		what := gm.Restoration(0, nil)
		what.Claim = testenv.Got(n.BeginRebuild(ctx, gm.C.ID, 0)).Must(t).Claim
		testenv.Must(t, n.Restore(ctx, gm.C, 0, what))
		testenv.Must(t, n.Apply(ctx, gm.C))
	}
	gm.Lose()
	rebuild(node(confirm.Redis))
	back := node(confirm.Stream)
	testenv.WantErr(t, back.Holds(ctx, gm.C.ID, 0), store.ErrNoState, "the shard is lost")
	testenv.Equal(t, back.IsSuperseded(gm.C.ID, 0), false, "superseded")
	rebuild(back)
	testenv.Must(t, back.Holds(ctx, gm.C.ID, 0))
}

// A master whose epoch another one has claimed confirms nothing, and says so again and again. It is lost when no node
// sees the other one any more. It borrows no stock, though this node has not read the claim yet.
func TestASupersededMaster(t *testing.T) {
	gm, to := grabtest.Streaming(t, grabtest.InProcess(t), grabtest.Setup{Packets: 10, Shards: 2})
	seen := &others{sees: true}
	gm.G.Heed(seen)
	ctx, moves := t.Context(), confirm.NewMoves(gm.G.Confirmer)
	supersede := func(shard int) {
		t.Helper()
		testenv.Must(t, gm.G.Holds(ctx, gm.C.ID, shard))
		r := testenv.Got(to.Record(ctx, gm.C.ID, shard)).Must(t)
		after := r.Seq
		r.Number, r.Holder = r.Number+1, "elsewhere"
		testenv.Must(t, testenv.Err(to.Claim(ctx, gm.C.ID, shard, after, r)))
	}
	supersede(1)
	lent := testenv.Got(moves.Lend(ctx, gm.C.ID, 0, 1, "m", 1)).Must(t)
	testenv.WantFail(t, testenv.Err(moves.Borrow(ctx, gm.C.ID, *lent)), "stock for an old master")
	supersede(0)
	for range 3 {
		testenv.WantErr(t, gm.G.Holds(ctx, gm.C.ID, 0), store.ErrOtherRedis, "the state of an old master")
	}
	testenv.Equal(t, seen.told >= 3, true, "it is told again and again")
	testenv.Equal(t, gm.G.IsSuperseded(gm.C.ID, 0), true, "superseded")
	gm.G.LoseSuperseded()
	testenv.WantErr(t, gm.G.Holds(ctx, gm.C.ID, 0), store.ErrOtherRedis, "a node sees the other master")
	seen.sees = false
	testenv.WantErr(t, gm.G.Holds(ctx, gm.C.ID, 0), store.ErrNoState, "no node sees it")
}

// others are nodes that see each master, or none.
type others struct {
	sees bool
	told int // calls of Superseded
}

func (o *others) IsSeen(context.Context, string) bool { return o.sees }
func (o *others) Superseded(string, int)              { o.told++ }
