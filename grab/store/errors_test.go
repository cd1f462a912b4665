package store_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// Whatever call of Redis fails, and be it the only one, whoever asked is told, and nobody takes what was not read for
// an answer.
func TestNoErrorOfRedisIsSwallowed(t *testing.T) {
	t.Parallel()
	rdb := grabtest.InProcess(t)
	b := &breaker{one: true}
	b.left.Store(1 << 40)
	rdb.AddHook(b)
	newGame := func(t *testing.T) *grabtest.Game {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 40, Wins: 30})
		for i := range 20 {
			gm.BatchOf([2]string{"p", rain.DropID{N: int64(i)}.String()})
		}
		gm.Want("q", gm.Drop(0), outcome.Won)
		return gm
	}
	closed := func(t *testing.T, gm *grabtest.Game) {
		testenv.Must(t, gm.C.Close(gm.Options.Clock()))
		testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		gm.Remove(gm.Read(100))
	}
	lost := func(_ *testing.T, gm *grabtest.Game) { gm.Lose() }
	win := rain.EntryRef{ID: "1-0"}
	for name, call := range map[string]struct {
		before func(*testing.T, *grabtest.Game) // may be nil
		do     func(*testing.T, *grabtest.Game) error
	}{
		"open": {lost, func(t *testing.T, gm *grabtest.Game) error {
			return gm.G.Open(t.Context(), gm.C, gm.Options.Clock()+60_000)
		}},
		"apply": {nil, func(t *testing.T, gm *grabtest.Game) error { return gm.G.Apply(t.Context(), gm.C) }},
		"close": {nil, func(t *testing.T, gm *grabtest.Game) error { return gm.G.CloseCampaign(t.Context(), gm.C) }},
		"expire": {closed, func(t *testing.T, gm *grabtest.Game) error {
			return gm.G.Expire(t.Context(), gm.C,
				time.Hour)
		}},
		"levels": {nil, func(t *testing.T, gm *grabtest.Game) error { return failure(gm.G.Levels(t.Context(), gm.C)) }},
		"snapshot": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.Snapshot(t.Context(), gm.C))
		}},
		"lost": {nil, func(t *testing.T, gm *grabtest.Game) error { return failure(gm.G.Lost(t.Context(), gm.C)) }},
		"restore": {lost, func(t *testing.T, gm *grabtest.Game) error {
			return gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, nil))
		}},
		"rank": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return gm.G.Rank(t.Context(), []store.Winners{{Campaign: gm.C.ID, Totals: []store.Ranked{{User: "p",
				Amount: 5}}}})
		}},
		"top": {nil, func(t *testing.T, gm *grabtest.Game) error { return failure(gm.G.Top(t.Context(), gm.C)) }},
		"report": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return gm.G.Report(t.Context(), gm.C.ID, "n", 1, store.NodeReport{})
		}},
		"reports": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.Reports(t.Context(), gm.C.ID))
		}},
		"allow": {nil, func(t *testing.T, gm *grabtest.Game) error {
			_, _, err := gm.G.Allow(t.Context(), "test", "x", 1, 1)
			return err
		}},
		"records": {nil, func(t *testing.T, gm *grabtest.Game) error {
			_, _, err := gm.G.Records(t.Context(), gm.C, "p", 100)
			return err
		}},
		"shards": {nil, func(t *testing.T, gm *grabtest.Game) error { return failure(gm.G.Shards(t.Context(), gm.C)) }},
		"lend": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.Lend(t.Context(), gm.C.ID, 0, 1, "m", 5))
		}},
		"borrow": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.Borrow(t.Context(), gm.C.ID, rain.Lent{Move: "m", Numbers: rain.Numbers{{First: 50,
				Last: 51}}}))
		}},
		"done": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return gm.G.Moves.Done(t.Context(), gm.C.ID, 0,
				"m")
		}},
		"lose": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.Moves.Lose(t.Context(), gm.C.ID, 0, "0-0", 0))
		}},
		"each record": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return gm.G.EachRecord(t.Context(), gm.C, 0, func(rain.Records) error { return nil })
		}},
		"page": {nil, func(t *testing.T, gm *grabtest.Game) error {
			_, _, err := gm.G.Page(t.Context(), gm.C.ID, 0, "", 10)
			return err
		}},
		"remove": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return gm.G.Remove(t.Context(),
				[]rain.EntryRef{win})
		}},
		"pending": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.Pending(t.Context(),
				gm.C))
		}},
		"waiting": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.Waiting(t.Context(), gm.C, 10))
		}},
		"lookup": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.Outbox.Lookup(t.Context(), gm.C.ID, 0, []string{"1-0"}))
		}},
		"wins for a look": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return failure(gm.G.ReadWins(t.Context(), gm.C.ID, 0, []string{"p"}))
		}},
		"decide": {nil, func(t *testing.T, gm *grabtest.Game) error {
			return gm.Script().Call(t.Context(), []*grabtest.Tap{grabtest.TapOf(t, "r", "0.0")})
		}},
		"load": {nil, func(t *testing.T, gm *grabtest.Game) error { return gm.G.Load(t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			for calls := int64(0); ; calls++ {
				gm := newGame(t)
				if call.before != nil {
					call.before(t, gm)
				}
				b.left.Store(calls)
				err := call.do(t, gm)
				broken := b.left.Load() < 0
				b.left.Store(1 << 40)
				if !broken {
					if err != nil {
						t.Errorf("after %d calls, of which none failed: %v", calls, err)
					}
					return
				}
				if !errors.Is(err, errBroken) {
					t.Errorf("call %d failed, and the answer is %v", calls+1, err)
				}
			}
		})
	}
}

// failure is the error of a call that answers something as well.
func failure[T any](_ T, err error) error { return err }

// What a player has won and nobody can read is an error, and not nothing.
func TestWinsThatCannotBeReadAreAnError(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{})
	bad := map[string]any{"p": "1 0.0", "p\n0.0": "?"}
	testenv.Must(t, rdb.HSet(t.Context(), gm.G.Keys(gm.C.ID, 0).Wins, bad).Err())
	if got, _, err := gm.G.Records(t.Context(), gm.C, "p", 10); err == nil {
		t.Errorf("read as %v", got)
	}
	var all rain.Records
	if err := gm.G.EachRecord(t.Context(), gm.C, 0,
		func(page rain.Records) error { all = page; return nil }); err != nil ||
		len(all.Unreadable) != 1 || !strings.Contains(all.Unreadable[0], "0.0") || len(all.Players) != 1 {
		t.Errorf("read as %+v, %v", all, err)
	}
}

// A report that cannot be read is an error, and an entry that cannot be read is in the log.
func TestWhatCannotBeReadIsTold(t *testing.T) {
	rdb := grabtest.InProcess(t)
	var log strings.Builder
	s := store.New(rdb, store.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	testenv.Must(t, rdb.HSet(t.Context(), s.NodesKey("c"), "n:a", "?").Err())
	if got, err := store.NewNodes(s).Reports(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("read as %v (%v)", got, err)
	}
	bad := []redis.XMessage{{ID: "7-1", Values: map[string]any{"wins": "?"}}}
	if got := store.NewOutbox(s).Readable("c", 0, bad); len(got) != 0 || !strings.Contains(log.String(), "7-1") {
		t.Errorf("read as %v; the log has %q", got, log.String())
	}
}
