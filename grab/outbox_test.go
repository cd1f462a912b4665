package grab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

// fill makes n entries of one win each, in a game with one shard.
func (gm *game) fill(n int) {
	gm.t.Helper()
	for i := range n {
		gm.want(fmt.Sprint("filler ", i), gm.drop(0), Won)
	}
}

func (gm *game) read(consumer string, limit int) []rain.Entry {
	gm.t.Helper()
	entries, err := gm.g.Read(gm.t.Context(), gm.c.ID, 0, consumer, limit)
	if err != nil {
		gm.t.Fatal(err)
	}
	return entries
}

func (gm *game) claim(consumer string, minIdle time.Duration, limit int) []rain.Entry {
	gm.t.Helper()
	entries, err := gm.g.Claim(gm.t.Context(), gm.c.ID, 0, consumer, minIdle, limit)
	if err != nil {
		gm.t.Fatal(err)
	}
	return entries
}

func (gm *game) remove(entries []rain.Entry) {
	gm.t.Helper()
	if err := gm.g.Remove(gm.t.Context(), refs(entries)); err != nil {
		gm.t.Fatal(err)
	}
}

func (gm *game) pending() int64 {
	gm.t.Helper()
	n, err := gm.g.Pending(gm.t.Context(), gm.c)
	if err != nil {
		gm.t.Fatal(err)
	}
	return n
}

func refs(entries []rain.Entry) []rain.EntryRef {
	all := make([]rain.EntryRef, len(entries))
	for i, e := range entries {
		all[i] = e.Ref
	}
	return all
}

func TestTheOutboxIsReadClaimedAndRemoved(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 20})
			if got := gm.read("a", 10); got != nil {
				t.Errorf("an empty outbox gives %v", got)
			}
			gm.fill(7)
			if n := gm.pending(); n != 7 {
				t.Errorf("%d entries wait, want 7", n)
			}
			first := gm.read("a", 5)
			second := gm.read("b", 5)
			if len(first) != 5 || len(second) != 2 || gm.read("b", 5) != nil {
				t.Fatalf("read %d and %d of 7", len(first), len(second))
			}
			for i, e := range slices.Concat(first, second) {
				want := rain.Win{User: fmt.Sprint("filler ", i), Packet: i, Amount: gm.amounts[i], Drop: e.Wins[0].Drop}
				if len(e.Wins) != 1 || e.Wins[0] != want || e.Reclaim != nil || e.Ref.Campaign != gm.c.ID ||
					e.Ref.Shard != 0 {
					t.Errorf("entry %d is %+v, want the win %+v", i, e, want)
				}
			}

			// a dies. Its entries are too young to be claimed at first.
			if got := gm.claim("b", time.Hour, 10); len(got) != 0 {
				t.Errorf("claimed %v", got)
			}
			claimed := gm.claim("b", 0, 100)
			if !slices.Equal(refs(claimed), refs(slices.Concat(first, second))) {
				t.Errorf("claimed %v", refs(claimed))
			}
			gm.remove(claimed[:3])
			gm.remove(claimed[:4]) // three of them for the second time
			if n := gm.pending(); n != 3 {
				t.Errorf("%d entries wait, want 3", n)
			}
			if got := gm.claim("b", 0, 2); !slices.Equal(refs(got), refs(claimed[4:6])) {
				t.Errorf("claimed %v, want no more than two: %v", refs(got), refs(claimed[4:6]))
			}
			gm.remove(claimed)
			gm.remove(nil)
			if n := gm.pending(); n != 0 {
				t.Errorf("%d entries wait, want none", n)
			}
			known, err := rdb.XPending(t.Context(), gm.g.keys.shard(gm.c.ID, 0).outbox, group).Result()
			if err != nil || known.Count != 0 {
				t.Errorf("Redis goes on keeping %d entries as read (%v)", known.Count, err)
			}

			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
			got := gm.read("a", 10)
			if len(got) != 1 || got[0].Wins != nil || *got[0].Reclaim != (rain.Reclaim{Packets: 13, Amount: 1300}) {
				t.Errorf("closed, and the outbox gives %+v", got)
			}
			snap, err := gm.g.Snapshot(t.Context(), gm.c)
			if err != nil || snap[0].LastEntry != got[0].Ref.ID {
				t.Errorf("the newest entry is %q (%v), want %q", snap[0].LastEntry, err, got[0].Ref.ID)
			}
		})
	}
}

// Redis looks at ten times as many entries as it is asked for, from the front. Where those are in good hands, the
// ones behind them must be found all the same.
func TestClaimLooksBehindEntriesInGoodHands(t *testing.T) {
	gm := newGame(t, connect(t, testenv.Redis(t)), setup{packets: 40})
	gm.fill(40)
	read := gm.read("a", 40)
	key := gm.g.keys.shard(gm.c.ID, 0).outbox
	for _, e := range read[30:] { // as if read an hour ago
		err := gm.rdb.Do(t.Context(), "XCLAIM", key, group, "a", 0, e.Ref.ID, "IDLE", time.Hour.Milliseconds()).Err()
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := gm.claim("b", time.Minute, 2); !slices.Equal(refs(got), refs(read[30:32])) {
		t.Errorf("claimed %v, want %v", refs(got), refs(read[30:32]))
	}
}

func TestTheGroupIsMadeAgain(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 20})
			gm.fill(3)
			all := gm.read("a", 10)
			key := gm.g.keys.shard(gm.c.ID, 0).outbox
			if err := rdb.XGroupDestroy(t.Context(), key, group).Err(); err != nil {
				t.Fatal(err)
			}
			if got := gm.claim("a", 0, 10); len(got) != 0 {
				t.Errorf("without a group claimed %v", got)
			}
			if got := gm.read("a", 10); !slices.Equal(refs(got), refs(all)) {
				t.Errorf("read %v, want all again: %v", refs(got), refs(all))
			}
			gm.remove(all)

			// A campaign that is not there, or not yet, has nothing, and reading makes nothing.
			none := newGame(t, rdb, setup{notOpen: true})
			if got := none.read("a", 10); got != nil {
				t.Errorf("read %v", got)
			}
			if got := none.claim("a", 0, 10); got != nil {
				t.Errorf("claimed %v", got)
			}
			if n := none.pending(); n != 0 {
				t.Errorf("%d entries wait", n)
			}
			if n := rdb.Exists(t.Context(), none.g.keys.shard(none.c.ID, 0).outbox).Val(); n != 0 {
				t.Error("reading has made an outbox")
			}
		})
	}
}

// An entry that nobody can read is somebody's money: it stays, and it holds up nobody else's.
func TestAnUnreadableEntryStays(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 20})
			key := gm.g.keys.shard(gm.c.ID, 0).outbox
			if err := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: key,
				Values: []string{"wins", "7 eleven 0.0 p"}}).Err(); err != nil {
				t.Fatal(err)
			}
			gm.fill(2)
			got := gm.read("a", 10)
			if len(got) != 2 {
				t.Fatalf("read %v, want the two good ones", got)
			}
			gm.remove(got)
			if got := gm.claim("a", 0, 10); len(got) != 0 {
				t.Errorf("claimed %v", got)
			}
			if n := gm.pending(); n != 1 {
				t.Errorf("%d entries wait, want the bad one", n)
			}
			if _, err := gm.g.Snapshot(t.Context(), gm.c); err == nil || !strings.Contains(err.Error(), "eleven") {
				t.Errorf("the snapshot says %v", err)
			}
		})
	}
}

// A full Redis is emptied by the ledger: reading, claiming and removing must work in it, whatever confirms the wins.
func TestTheOutboxOfAFullRedisIsEmptied(t *testing.T) {
	server := testenv.StartRedis(t)
	testenv.StartReplica(t, server)
	games := map[Confirm]*game{}
	for _, mode := range []Confirm{ConfirmRedis, ConfirmReplica, ConfirmStream} {
		gm := newGame(t, connect(t, server.Addr), setup{packets: 20, options: func(o *Options) {
			o.Confirm, o.Publish = mode, func(context.Context, rain.Entry) error { return nil }
		}})
		for i := range 6 {
			gm.untilWon(fmt.Sprint("filler ", i), gm.drop(0))
		}
		games[mode] = gm
	}
	rdb := games[ConfirmRedis].rdb
	for name, value := range map[string]string{"maxmemory-policy": "noeviction", "maxmemory": "1"} {
		if err := rdb.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for mode, gm := range games {
		t.Run(mode.String(), func(t *testing.T) {
			// A replica may need longer than it has; what it has not got comes again through Claim.
			testenv.Eventually(t, time.Minute, "the outbox is empty", func() bool {
				read, err := gm.g.Read(t.Context(), gm.c.ID, 0, "a", 3)
				if err != nil {
					t.Log(err)
				}
				claimed, err := gm.g.Claim(t.Context(), gm.c.ID, 0, "b", 0, 6)
				if err != nil {
					t.Log(err)
				}
				gm.remove(append(read, claimed...))
				return gm.pending() == 0
			})
			if snap, err := gm.g.Snapshot(t.Context(), gm.c); err != nil || snap[0].Won != 6 {
				t.Errorf("snapshot %+v, %v", snap, err)
			}
		})
	}
}
