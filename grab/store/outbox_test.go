package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestTheOutboxIsReadAndRemoved(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 20})
		testenv.Equal(t, len(gm.Read(10)), 0, "an empty outbox gives")
		oldest := func(want int64, when string) {
			t.Helper()
			testenv.Got(gm.G.OldestWin(t.Context(), gm.C)).Want(t, want, "the oldest win, %s", when)
		}
		at := func(e rain.Entry) int64 { ms, _, _ := e.Ref.Position(); return ms }
		oldest(0, "without one")
		gm.Fill(7)
		testenv.Equal(t, gm.Pending(), 7, "entries that wait")
		testenv.Got(gm.G.Waiting(t.Context(), gm.C, 3)).Want(t, gm.Outbox()[:3], "the oldest three")
		all := gm.Read(10)
		if len(all) != 7 {
			t.Fatalf("read %d of 7", len(all))
		}
		for i, e := range all {
			w := e.Wins[0]
			want := rain.Win{User: fmt.Sprint("filler ", i), Packet: i, Drop: w.Drop, Seal: w.Seal}
			if len(e.Wins) != 1 || w != want || e.Reclaim != nil ||
				!grabtest.Ring.CheckTap(w.Seal, gm.C.ID, w.User, w.Drop, e.SealedAt) || e.Ref.Campaign != gm.C.ID ||
				e.Ref.Shard != 0 {
				t.Errorf("entry %d is %+v, want the win %+v", i, e, want)
			}
		}
		oldest(at(all[0]), "of seven")
		gm.Remove(all[:3])
		gm.Remove(all[:4]) // three of them for the second time
		testenv.Equal(t, gm.Pending(), 3, "entries that wait")
		oldest(at(all[4]), "of three")
		gm.Remove(all)
		gm.Remove(nil)
		testenv.Equal(t, gm.Pending(), 0, "entries that wait")

		testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		got := gm.Read(10)
		if len(got) != 1 || got[0].Wins != nil || got[0].Reclaim.Numbers.String() != "7-19" ||
			!grabtest.Ring.CheckClosing(got[0].Reclaim.Seal, gm.C.ID, 0, got[0].SealedAt) {
			t.Fatalf("closed, and the outbox gives %+v", got)
		}
		oldest(0, "with a closing only")
		testenv.Equal(t, testenv.Got(gm.G.Snapshot(t.Context(), gm.C)).Must(t)[0].LastEntry, got[0].Ref.ID,
			"the newest entry")
	})
}

// Pages follow each other without a gap and without an entry twice. Entries in between may be removed or unreadable.
func TestPagesFollowEachOther(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 20})
		none := grabtest.New(t, rdb, grabtest.Setup{NotOpen: true})
		if got, next, err := none.G.Page(t.Context(), none.C.ID, 0, "", 10); len(got) != 0 || next != "" ||
			err != nil {
			t.Errorf("of no campaign: %v, next %q, %v", got, next, err)
		}
		gm.Fill(4)
		key := gm.G.Keys(gm.C.ID, 0).Outbox
		for range 3 { // a whole page that cannot be read
			testenv.Must(t, rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: key,
				Values: []string{"at", "1", "packets", "eleven", "wins", "seal 0.0 p"}}).Err())
		}
		for i := range 3 {
			gm.Want(fmt.Sprint("later ", i), gm.Drop(0), outcome.Won)
		}
		var got []rain.EntryRef
		after, pages := "", 0
		for ; pages == 0 || after != ""; pages++ {
			entries, next, err := gm.G.Page(t.Context(), gm.C.ID, 0, after, 2)
			testenv.Must(t, err)
			got = append(got, grabtest.Refs(entries)...)
			gm.Remove(entries)
			after = next
		}
		if len(got) != 7 || pages != 6 { // ten entries, and the last page is full
			t.Errorf("%d entries on %d pages", len(got), pages)
		}
		// An unreadable entry may be a win, so it stays and is named.
		if _, err := gm.G.Snapshot(t.Context(), gm.C); gm.Pending() != 3 || err == nil || !strings.Contains(err.Error(),
			"no script has written this record") {
			t.Errorf("%d entries are left, the snapshot says %v", gm.Pending(), err)
		}
		for i := range len(got) - 1 {
			if !above(t, got[i+1], got[i].ID) {
				t.Errorf("%s comes after %s", got[i+1], got[i])
			}
		}
	})
}

// A full Redis is emptied by the ledger: reading and removing must work in it, whatever confirms the wins.
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
		testenv.Must(t, rdb.ConfigSet(t.Context(), name, value).Err())
	}
	for mode, gm := range games {
		t.Run(mode.String(), func(t *testing.T) {
			// A replica may need more time than its limit. The entries that it lacks may leave later.
			testenv.Eventually(t, time.Minute, "the outbox is empty", func() bool {
				read := gm.Read(3)
				if err := gm.G.MayLeave(t.Context(), read); err != nil {
					t.Log(err)
					return false
				}
				gm.Remove(read)
				return gm.Pending() == 0
			})
			testenv.Equal(t, testenv.Got(gm.G.Snapshot(t.Context(), gm.C)).Must(t)[0].Won, 6, "snapshot")
		})
	}
}
