package store_test

import (
	"context"
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

// If any call of Redis fails, even a single one, the caller gets an error. Data that was not read is never taken for an
// answer.
func TestNoErrorOfRedisIsSwallowed(t *testing.T) {
	t.Parallel()
	rdb := grabtest.InProcess(t)
	b := &breaker{one: true}
	b.left.Store(1 << 40)
	rdb.AddHook(b)
	type ctx = context.Context
	type game = *grabtest.Game
	closed := func(x ctx, gm game) {
		testenv.Must(t, gm.C.Close(gm.Options.Clock()))
		testenv.Must(t, gm.G.CloseCampaign(x, gm.C))
		gm.Remove(gm.Read(100))
	}
	lost := func(_ ctx, gm game) { gm.Lose() }
	borrowed := rain.Lent{Move: "m", Numbers: rain.Numbers{{First: 50, Last: 51}}}
	winners := []store.Winners{{Totals: []store.Ranked{{User: "p", Amount: 5}}}}
	for name, call := range map[string]struct {
		before func(ctx, game) // may be nil
		do     func(ctx, game) error
	}{
		"open":     {lost, func(x ctx, gm game) error { return gm.G.Open(x, gm.C, gm.Options.Clock()+60_000) }},
		"apply":    {nil, func(x ctx, gm game) error { return gm.G.Apply(x, gm.C) }},
		"close":    {nil, func(x ctx, gm game) error { return gm.G.CloseCampaign(x, gm.C) }},
		"expire":   {closed, func(x ctx, gm game) error { return gm.G.Expire(x, gm.C, time.Hour) }},
		"levels":   {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Levels(x, gm.C)) }},
		"snapshot": {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Snapshot(x, gm.C)) }},
		"lost":     {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Lost(x, gm.C)) }},
		"restore":  {lost, func(x ctx, gm game) error { return gm.G.Restore(x, gm.C, 0, gm.Restoration(0, nil)) }},
		"rank": {nil, func(x ctx, gm game) error {
			winners[0].Campaign = gm.C.ID
			return gm.G.Rank(x, winners)
		}},
		"top":     {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Top(x, gm.C)) }},
		"report":  {nil, func(x ctx, gm game) error { return gm.G.Report(x, gm.C.ID, "n", 1, store.NodeReport{}) }},
		"reports": {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Reports(x, gm.C.ID)) }},
		"allow":   {nil, func(x ctx, gm game) error { return failure2(gm.G.Allow(x, "test", "x", 1, 1)) }},
		"records": {nil, func(x ctx, gm game) error { return failure2(gm.G.Records(x, gm.C, "p", 100)) }},
		"shards":  {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Shards(x, gm.C)) }},
		"lend":    {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Lend(x, gm.C.ID, 0, 1, "m", 5)) }},
		"borrow":  {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Borrow(x, gm.C.ID, borrowed)) }},
		"done":    {nil, func(x ctx, gm game) error { return gm.G.Moves.Done(x, gm.C.ID, 0, "m") }},
		"lose":    {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Moves.Lose(x, gm.C.ID, 0, "0-0", 0)) }},
		"each record": {nil, func(x ctx, gm game) error {
			return gm.G.EachRecord(x, gm.C, 0, func(rain.Records) error { return nil })
		}},
		"page":    {nil, func(x ctx, gm game) error { return failure2(gm.G.Page(x, gm.C.ID, 0, "", 10)) }},
		"remove":  {nil, func(x ctx, gm game) error { return gm.G.Remove(x, []rain.EntryRef{{ID: "1-0"}}) }},
		"pending": {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Pending(x, gm.C)) }},
		"waiting": {nil, func(x ctx, gm game) error { return testenv.Err(gm.G.Waiting(x, gm.C, 10)) }},
		"lookup": {nil, func(x ctx, gm game) error {
			return testenv.Err(gm.G.Outbox.Lookup(x, gm.C.ID, 0, []string{"1-0"}))
		}},
		"wins for a look": {nil, func(x ctx, gm game) error {
			return testenv.Err(gm.G.ReadWins(x, gm.C.ID, 0, []string{"p"}))
		}},
		"decide": {nil, func(x ctx, gm game) error {
			return gm.Script().Call(x, []*grabtest.Tap{grabtest.TapOf(t, "r", "0.0")})
		}},
		"load": {nil, func(x ctx, gm game) error { return gm.G.Load(x) }},
	} {
		t.Run(name, func(t *testing.T) {
			for calls := int64(0); ; calls++ {
				gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 40, Wins: 30})
				for i := range 20 {
					gm.BatchOf([2]string{"p", rain.DropID{N: int64(i)}.String()})
				}
				gm.Want("q", gm.Drop(0), outcome.Won)
				if call.before != nil {
					call.before(t.Context(), gm)
				}
				b.left.Store(calls)
				err := call.do(t.Context(), gm)
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

// failure2 is the error of a call that answers two values as well.
func failure2[S, T any](_ S, _ T, err error) error { return err }

// A win that cannot be read is an error. It does not count as no win.
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
		len(all.Unreadable) != 1 || !strings.Contains(all.Unreadable[0], "0.0") {
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

// TestAnswersThatPass: a request fails for now, or for a reason that an operator has to mend.
func TestAnswersThatPass(t *testing.T) {
	for answer, passes := range map[string]bool{
		"LOADING Redis is loading the dataset in memory": true, "MASTERDOWN Link with MASTER is down": true,
		"CLUSTERDOWN The cluster is down": true, "READONLY You can't write against a read only replica.": true,
		"TRYAGAIN Multiple keys request during rehashing of slot": true, "OOM command not allowed": true,
		"BUSY Redis is busy running a script.": true, "BUSYGROUP Consumer Group name already exists": false,
		"MISCONF Errors writing to the AOF file: No space left on device":  true,
		"NOREPLICAS Not enough good replicas to write.":                    true,
		"ERR max number of clients reached":                                true,
		"NOAUTH Authentication required.":                                  true,
		"WRONGPASS invalid username-password pair":                         true,
		"NOPERM this user has no permissions to run the 'evalsha' command": false, "ERR syntax error": false,
		"WRONGTYPE Operation against a key holding the wrong kind of value": false,
	} {
		testenv.Equal(t, store.IsUnavailable(refusal(answer)), passes, "%s", answer)
	}
}
