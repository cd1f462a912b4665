package store_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestTheOutboxIsReadClaimedAndRemoved(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 20})
			if got := gm.Read("a", 10); got != nil {
				t.Errorf("an empty outbox gives %v", got)
			}
			gm.Fill(7)
			if n := gm.Pending(); n != 7 {
				t.Errorf("%d entries wait, want 7", n)
			}
			waiting, err := gm.G.Waiting(t.Context(), gm.C, 3)
			if err != nil || !reflect.DeepEqual(waiting, gm.Outbox()[:3]) {
				t.Errorf("the oldest three are %+v (%v)", waiting, err)
			}
			first := gm.Read("a", 5) // all of them: showing them has taken none
			second := gm.Read("b", 5)
			if len(first) != 5 || len(second) != 2 || gm.Read("b", 5) != nil {
				t.Fatalf("read %d and %d of 7", len(first), len(second))
			}
			for i, e := range slices.Concat(first, second) {
				w := e.Wins[0]
				want := rain.Win{User: fmt.Sprint("filler ", i), Packet: i, Drop: w.Drop, Seal: w.Seal}
				if len(e.Wins) != 1 || w != want || e.Reclaim != nil ||
					!grabtest.Ring.CheckTap(w.Seal, gm.C.ID, w.User, w.Drop, e.SealedAt) || e.Ref.Campaign != gm.C.ID ||
					e.Ref.Shard != 0 {
					t.Errorf("entry %d is %+v, want the win %+v", i, e, want)
				}
			}

			// a dies. Its entries are too young to be claimed at first.
			if got := gm.Claim("b", time.Hour, 10); len(got) != 0 {
				t.Errorf("claimed %v", got)
			}
			claimed := gm.Claim("b", 0, 100)
			if !slices.Equal(grabtest.Refs(claimed), grabtest.Refs(slices.Concat(first, second))) {
				t.Errorf("claimed %v", grabtest.Refs(claimed))
			}
			gm.Remove(claimed[:3])
			gm.Remove(claimed[:4]) // three of them for the second time
			if n := gm.Pending(); n != 3 {
				t.Errorf("%d entries wait, want 3", n)
			}
			if got := gm.Claim("b", 0, 2); !slices.Equal(grabtest.Refs(got), grabtest.Refs(claimed[4:6])) {
				t.Errorf("claimed %v, want no more than two: %v", grabtest.Refs(got), grabtest.Refs(claimed[4:6]))
			}
			gm.Remove(claimed)
			gm.Remove(nil)
			if n := gm.Pending(); n != 0 {
				t.Errorf("%d entries wait, want none", n)
			}
			known, err := rdb.XPending(t.Context(), gm.G.Keys(gm.C.ID, 0).Outbox, "relay").Result()
			if err != nil || known.Count != 0 {
				t.Errorf("Redis goes on keeping %d entries as read (%v)", known.Count, err)
			}

			if err := gm.G.CloseCampaign(t.Context(), gm.C); err != nil {
				t.Fatal(err)
			}
			got := gm.Read("a", 10)
			if len(got) != 1 || got[0].Wins != nil || got[0].Reclaim.Numbers.String() != "7-19" ||
				!grabtest.Ring.CheckClosing(got[0].Reclaim.Seal, gm.C.ID, 0, got[0].SealedAt) {
				t.Fatalf("closed, and the outbox gives %+v", got)
			}
			snap, err := gm.G.Snapshot(t.Context(), gm.C)
			if err != nil || snap[0].LastEntry != got[0].Ref.ID {
				t.Errorf("the newest entry is %q (%v), want %q", snap[0].LastEntry, err, got[0].Ref.ID)
			}
		})
	}
}

// Redis looks at ten times as many entries as it is asked for, from the front. Where those are in good hands, the
// ones behind them must be found all the same.
func TestClaimLooksBehindEntriesInGoodHands(t *testing.T) {
	gm := grabtest.New(t, grabtest.Connect(t, testenv.Redis(t)), grabtest.Setup{Packets: 40})
	gm.Fill(40)
	read := gm.Read("a", 40)
	key := gm.G.Keys(gm.C.ID, 0).Outbox
	for _, e := range read[30:] { // as if read an hour ago
		err := gm.RDB.Do(t.Context(), "XCLAIM", key, "relay", "a", 0, e.Ref.ID, "IDLE", time.Hour.Milliseconds()).Err()
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := gm.Claim("b", time.Minute, 2); !slices.Equal(grabtest.Refs(got), grabtest.Refs(read[30:32])) {
		t.Errorf("claimed %v, want %v", grabtest.Refs(got), grabtest.Refs(read[30:32]))
	}
}

func TestTheGroupIsMadeAgain(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 20})
			gm.Fill(3)
			all := gm.Read("a", 10)
			key := gm.G.Keys(gm.C.ID, 0).Outbox
			if err := rdb.XGroupDestroy(t.Context(), key, "relay").Err(); err != nil {
				t.Fatal(err)
			}
			if got := gm.Claim("a", 0, 10); len(got) != 0 {
				t.Errorf("without a group claimed %v", got)
			}
			if got := gm.Read("a", 10); !slices.Equal(grabtest.Refs(got), grabtest.Refs(all)) {
				t.Errorf("read %v, want all again: %v", grabtest.Refs(got), grabtest.Refs(all))
			}
			gm.Remove(all)

			// A campaign that is not there, or not yet, has nothing, and reading makes nothing.
			none := grabtest.New(t, rdb, grabtest.Setup{NotOpen: true})
			if got := none.Read("a", 10); got != nil {
				t.Errorf("read %v", got)
			}
			if got := none.Claim("a", 0, 10); got != nil {
				t.Errorf("claimed %v", got)
			}
			if n := none.Pending(); n != 0 {
				t.Errorf("%d entries wait", n)
			}
			if n := rdb.Exists(t.Context(), none.G.Keys(none.C.ID, 0).Outbox).Val(); n != 0 {
				t.Error("reading has made an outbox")
			}
		})
	}
}

// otherNode makes the group when this node is about to.
type otherNode struct{ rdb redis.UniversalClient }

func (otherNode) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o otherNode) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "xgroup" {
			if err := o.rdb.Do(ctx, cmd.Args()...).Err(); err != nil {
				return err
			}
		}
		return next(ctx, cmd)
	}
}

func (otherNode) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Another node may be faster in making the group again.
func TestTheGroupIsMadeByTwoNodes(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{})
	gm.Fill(3)
	if err := rdb.XGroupDestroy(t.Context(), gm.G.Keys(gm.C.ID, 0).Outbox, "relay").Err(); err != nil {
		t.Fatal(err)
	}
	client, ok := rdb.(*redis.Client)
	if !ok {
		t.Fatalf("%T", rdb)
	}
	rdb.AddHook(otherNode{grabtest.Connect(t, client.Options().Addr)})
	if got := gm.Read("a", 10); len(got) != 3 {
		t.Errorf("read %v", got)
	}
}

// An entry that nobody can read is somebody's money: it stays, and it holds up nobody else's.
func TestAnUnreadableEntryStays(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 20})
			key := gm.G.Keys(gm.C.ID, 0).Outbox
			if err := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: key,
				Values: []string{"at", "1", "packets", "eleven", "wins", "seal 0.0 p"}}).Err(); err != nil {
				t.Fatal(err)
			}
			gm.Fill(2)
			got := gm.Read("a", 10)
			if len(got) != 2 {
				t.Fatalf("read %v, want the two good ones", got)
			}
			gm.Remove(got)
			if got := gm.Claim("a", 0, 10); len(got) != 0 {
				t.Errorf("claimed %v", got)
			}
			if n := gm.Pending(); n != 1 {
				t.Errorf("%d entries wait, want the bad one", n)
			}
			if _, err := gm.G.Snapshot(t.Context(), gm.C); err == nil || !strings.Contains(err.Error(),
				"not what a script has written") {
				t.Errorf("the snapshot says %v", err)
			}
		})
	}
}

// A full Redis is emptied by the ledger: reading, claiming and removing must work in it, whatever confirms the wins.
func TestTheOutboxOfAFullRedisIsEmptied(t *testing.T) {
	server := testenv.StartRedis(t)
	testenv.StartReplica(t, server)
	games := map[confirm.Mode]*grabtest.Game{}
	for _, mode := range []confirm.Mode{confirm.Redis, confirm.Replica, confirm.Stream} {
		gm := grabtest.New(t, grabtest.Connect(t, server.Addr),
			grabtest.Setup{Packets: 20, Options: func(o *grabtest.Options) {
				o.Confirm, o.Publisher = mode, &grabtest.Stream{}
			}})
		for i := range 6 {
			gm.UntilWon(fmt.Sprint("filler ", i), gm.Drop(0))
		}
		games[mode] = gm
	}
	rdb := games[confirm.Redis].RDB
	for name, value := range map[string]string{"maxmemory-policy": "noeviction", "maxmemory": "1"} {
		if err := rdb.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for mode, gm := range games {
		t.Run(mode.String(), func(t *testing.T) {
			// A replica may need longer than it has; what it has not got comes again through Claim.
			testenv.Eventually(t, time.Minute, "the outbox is empty", func() bool {
				read, err := gm.G.Read(t.Context(), gm.C.ID, 0, "a", 3)
				if err != nil {
					t.Log(err)
				}
				claimed, err := gm.G.Claim(t.Context(), gm.C.ID, 0, "b", 0, 6)
				if err != nil {
					t.Log(err)
				}
				gm.Remove(append(read, claimed...))
				return gm.Pending() == 0
			})
			if snap, err := gm.G.Snapshot(t.Context(), gm.C); err != nil || snap[0].Won != 6 {
				t.Errorf("snapshot %+v, %v", snap, err)
			}
		})
	}
}
