package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestARestoredShardGoesOn(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 40, Shards: 2, Wins: 2, Taps: 3, Split: rain.DoubleMean})
		told := map[string]outcome.Result{}
		for p := range 12 {
			user := fmt.Sprint("player ", p)
			told[user] = gm.Want(user, gm.Drop(p%3), outcome.Won)
		}
		before, wins := gm.Levels(), [][]grabtest.Known{gm.Known(0), gm.Known(1)}
		testenv.Got(gm.G.Lost(t.Context(), gm.C)).Want(t, nil, "lost")
		gm.Lose()
		testenv.Got(gm.G.Lost(t.Context(), gm.C)).Want(t, []int{0, 1}, "lost")
		future := fmt.Sprintf("%d-7", gm.Options.Clock()+3_600_000) // another node's clock was ahead
		for shard := range 2 {
			r := gm.Restoration(shard, wins[shard])
			r.Barrier = future
			testenv.Must(t, gm.G.Restore(t.Context(), gm.C, shard, r))
		}
		testenv.Got(gm.G.Lost(t.Context(), gm.C)).Want(t, nil, "restored, and lost")
		gm.Gone = len(told)
		gm.Balance()
		gm.WantLevels(before)
		snap, err := gm.G.Snapshot(t.Context(), gm.C)
		if err != nil || snap[0].LastEntry != future || snap[0].Entries != nil || gm.Pending() != 0 {
			t.Errorf("snapshot %+v, %v", snap, err)
		}
		// Without a rain nothing is won; the campaign's version, which is older than the loss, brings it.
		node := gm.Node().Gate(gm.C)
		gm.WantOn(node, "new", gm.Drop(0), outcome.NotOpen)
		testenv.Must(t, gm.G.Apply(t.Context(), gm.C))
		for _, k := range slices.Concat(wins...) {
			testenv.Equal(t, grabtest.TapOn(node, k.Win.User, k.Win.Drop), told[k.Win.User],
				"%s asked again", k.Win.User)
		}
		// One win more for each, and one tap more that wins nothing is left of three.
		for user := range told {
			r := grabtest.TapOn(node, user, gm.Drop(5))
			testenv.Equal(t, r.Outcome, outcome.Won, "%s: the second win: %v", user, r)
			gm.WantOn(gm.Node().Gate(gm.C), user, gm.Drop(6), outcome.Already)
		}
		for _, e := range gm.Outbox() {
			if !above(t, e.Ref, future) {
				t.Errorf("entry %s is not above %s", e.Ref, future)
			}
			for _, w := range e.Wins {
				if slices.ContainsFunc(slices.Concat(wins...),
					func(k grabtest.Known) bool { return k.Win.Packet == w.Packet }) {
					t.Errorf("packet %d was given twice", w.Packet)
				}
			}
		}
		gm.Balance()
		testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		gm.Balance()
	})
}

// above reports whether an entry's id is above another id.
func above(t *testing.T, ref rain.EntryRef, id string) bool {
	t.Helper()
	ms, seq, err := ref.Position()
	testenv.Must(t, err)
	ms2, seq2, err := rain.EntryRef{ID: id}.Position()
	testenv.Must(t, err)
	return ms > ms2 || (ms == ms2 && seq > seq2)
}

func TestAClosedShardIsRestoredClosed(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10})
		stale, drop := gm.C.Clone(), gm.Drop(0)
		first := gm.Want("p", drop, outcome.Won)
		testenv.Must(t, gm.C.Close(gm.Options.Clock()))
		gm.Apply()
		wins, before := gm.Known(0), gm.Levels()
		gm.Lose()
		r := gm.Restoration(0, wins)
		r.Closed = true
		testenv.WantErr(t, gm.G.Restore(t.Context(), gm.C, 0, r), store.ErrRestoration, "closed, with a stock")
		r.Stock, r.Reclaimed = nil, r.Stock
		testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, r))
		gm.WantLevels(before)
		testenv.Equal(t, grabtest.TapOn(gm.Node().Gate(stale), "p", drop), first, "the win again")
		gm.WantOn(gm.Node().Gate(stale), "q", drop, outcome.NotOpen)
		if err := gm.G.CloseCampaign(t.Context(), gm.C); err != nil || gm.Pending() != 0 {
			t.Errorf("closed again: %v, %d entries", err, gm.Pending())
		}
		newer := stale.Clone()
		newer.Revision += 100
		if err := gm.G.Apply(t.Context(), newer); err != nil ||
			grabtest.TapOn(gm.Node().Gate(stale), "q", drop).Outcome != outcome.NotOpen {
			t.Errorf("a version has opened it (%v)", err)
		}
		testenv.WantErr(t, gm.G.Open(t.Context(), stale, soon(gm)), store.ErrClosed, "loading it")
	})
}

// However many wins a player has: no call that restores them, adds to them, asks for one of them again or reads them is
// long.
func TestNoCallIsLongerForAPlayerOfManyWins(t *testing.T) {
	server := testenv.StartRedis(t)
	rdb := grabtest.Connect(t, server.Addr)
	const before, longest = 50_000, 5 * time.Millisecond
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 2 * before, Wins: 2 * before, NoRain: true})
	wins := make([]grabtest.Known, before)
	for p := range wins {
		wins[p] = grabtest.Known{
			Win: rain.Win{User: "p", Packet: p, Amount: gm.Amounts.Of(p), Drop: rain.DropID{N: int64(p),
				K: 7}.String()},
			Entry: rain.EntryRef{ID: fmt.Sprintf("%d-0", 1_763_712_000_000+p)},
		}
	}
	gm.Lose()
	for name, value := range map[string]string{"slowlog-log-slower-than": "50", "slowlog-max-len": "100000"} {
		testenv.Must(t, rdb.ConfigSet(t.Context(), name, value).Err())
	}
	testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)))
	gm.Gone = len(wins)
	gm.LetItRain(nil)
	script := gm.Script()
	taps := []string{"100000.0", wins[0].Win.Drop, wins[before/2].Win.Drop, wins[before-1].Win.Drop, "100000.0"}
	for i, want := range []int{before, 0, before / 2, before - 1, before} {
		testenv.Must(t, script.Call(t.Context(), []*grabtest.Tap{grabtest.TapOf(t, "p", taps[i])}))
		if r := script.Answer.Results[0]; r.Outcome != outcome.Won || r.Packet != want {
			t.Errorf("%s: %v, want the win of packet %d", taps[i], r, want)
		}
	}
	held, total, err := gm.G.Records(t.Context(), gm.C, "p", 3*before)
	if err != nil || len(held) != before+1 || total != before+1 || held[0].Win.Packet != 0 ||
		held[before].Win.Packet != before {
		t.Errorf("%d wins of %d (%v)", len(held), total, err)
	}
	// The newest are read alone.
	counted := grabtest.CountCalls(rdb)
	if held, total, err = gm.G.Records(t.Context(), gm.C, "p", 3); err != nil || len(held) != 3 || total != before+1 ||
		held[2].Win.Packet != before || counted.Of("evalsha") != 1 {
		t.Errorf("%d wins of %d (%v) in %d calls", len(held), total, err, counted.Of("evalsha"))
	}
	slow, err := rdb.SlowLogGet(t.Context(), -1).Result()
	if err != nil || len(slow) < 20 {
		t.Fatal(len(slow), err)
	}
	took := map[string][]time.Duration{} // by command and script
	for _, call := range slow {
		what := strings.Join(call.Args[:min(2, len(call.Args))], " ")
		took[what] = append(took[what], call.Duration)
	}
	for what, all := range took {
		if len(all) < 3 {
			continue // a script's first call, by its text
		}
		// A busy machine delays any call now and then. A call with much work is never short.
		usual := slices.Sorted(slices.Values(all))[len(all)/10]
		t.Logf("%d calls, usually %s: %.40q", len(all), usual, what)
		if usual > longest && !testing.Short() {
			t.Errorf("%s takes %s, want at most %s", what, usual, longest)
		}
	}
	gm.Balance()
}
