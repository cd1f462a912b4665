package confirm_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
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

// reading reads all entries, as a relay does. It is an error where they may not leave Redis.
func reading(gm *grabtest.Game) (all []rain.Entry, err error) {
	gm.T.Helper()
	all, _, err = gm.G.Page(gm.T.Context(), gm.C.ID, 0, "", 100)
	if err == nil {
		err = gm.G.MayLeave(gm.T.Context(), all)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// With confirm.Stream, what a replica has not got is neither told nor paid.
func TestTheStreamComesAfterTheReplica(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	master := testenv.StartRedis(t)
	replica := testenv.StartReplica(t, master)
	gm, to := grabtest.Streaming(t, grabtest.Connect(t, master.Addr), grabtest.Setup{Packets: 20})
	k, copied, drop := gm.G.Keys(gm.C.ID, 0), grabtest.Connect(t, replica.Addr), gm.Drop(0)
	to.Mu.Lock()
	to.Before = func(ctx context.Context, e rain.Entry) error {
		text, err := copied.HGet(ctx, k.Wins, e.Wins[0].User+"\n"+e.Wins[0].Drop).Result()
		if err != nil || !strings.Contains(text, " "+e.Ref.ID+" ") {
			t.Errorf("published %+v, and the replica has %q (%v)", e, text, err)
		}
		return nil
	}
	to.Mu.Unlock()
	gm.UntilWon("p", drop)
	testenv.Eventually(t, time.Minute, "the win is told again", func() bool { return len(gm.Confirmed("p")) == 1 })
	to.Refuse(false)

	replica.Freeze()
	published := len(to.Entries())
	results := gm.BatchOf([2]string{"q", drop}, [2]string{"p", gm.Drop(1)})
	if results[0].Outcome != outcome.Unavailable || results[1].Outcome != outcome.Already {
		t.Errorf("%v, want unavailable for the winner only", results)
	}
	gm.Want("q", drop, outcome.Unavailable)
	// which knows nothing of the replica yet
	if r := grabtest.TapOn(gm.Node().Gate(gm.C), "q", drop); r.Outcome != outcome.Unavailable {
		t.Errorf("on another node: %v", r)
	}
	if got := gm.Confirmed("q"); got != nil {
		t.Errorf("told of %v, which no replica has", got)
	}
	if all, err := reading(gm); len(all) != 0 || err == nil {
		t.Errorf("%+v left Redis (%v)", all, err)
	}
	if n := len(to.Entries()); n != published {
		t.Errorf("%d entries were published that no replica has", n-published)
	}
	replica.Thaw()
	gm.UntilWon("q", drop)
	testenv.Eventually(t, time.Minute, "all entries may leave", func() bool {
		all, _ := reading(gm)
		return reflect.DeepEqual(all, inOutbox(gm))
	})
	gm.Balance()
}

// Where a master stands alone nobody is waited for, and as soon as it does not any more its replica is.
func TestTheStreamWaitsForNoReplicaThatHasGone(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	master := testenv.StartRedis(t)
	replica := testenv.StartReplica(t, master)
	gm, _ := grabtest.Streaming(t, grabtest.Connect(t, master.Addr), grabtest.Setup{Packets: 20})
	drop := gm.Drop(0)
	gm.UntilWon("p", drop)
	replica.Kill()
	gm.UntilWon("q", drop)
	gm.Want("r", drop, outcome.Won)
	if all, err := reading(gm); len(all) != 3 || err != nil {
		t.Errorf("%d of 3 entries may leave (%v)", len(all), err)
	}

	replica.Start()
	testenv.Eventually(t, time.Minute, "the replica is back", func() bool {
		info, err := gm.RDB.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "state=online")
	})
	replica.Freeze()
	gm.Want("s", drop, outcome.Unavailable) // also at once: that there was no replica is not remembered
	if all, err := reading(gm); len(all) != 0 || err == nil {
		t.Errorf("%+v left Redis (%v)", all, err)
	}
	replica.Thaw()
	gm.UntilWon("s", drop)
	gm.Balance()
}

// A master that has taken over without a win publishes nothing of it: it is going to give the packet again.
func TestWhatAMasterDoesNotHaveIsNotPublished(t *testing.T) {
	for name, replicas := range map[string]int{"alone": 0, "with a replica": 1} {
		t.Run(name, func(t *testing.T) {
			master := testenv.StartRedis(t)
			for range replicas {
				testenv.StartReplica(t, master)
			}
			gm, to := grabtest.Streaming(t, grabtest.Connect(t, master.Addr), grabtest.Setup{Packets: 3})
			r := gm.UntilWon("p", gm.Drop(0))
			win := rain.Win{User: "p", Packet: r.Packet, Amount: r.Amount, Drop: gm.Drop(0)}
			lost := rain.Win{User: "q", Packet: 1, Amount: 100, Drop: win.Drop}
			good, before := gm.Outbox()[0].Ref.ID, len(to.Entries())
			wins := func() *confirm.Pending {
				var p confirm.Pending
				p.AddFresh(&rain.Entry{Ref: rain.EntryRef{Campaign: gm.C.ID, ID: good}, Wins: []rain.Win{win}})
				p.AddFresh(&rain.Entry{Ref: rain.EntryRef{Campaign: gm.C.ID, ID: "1-1"}, Wins: []rain.Win{lost}})
				return &p
			}
			p := wins()
			testenv.Eventually(t, time.Minute, "a confirmation", func() bool {
				p = wins()
				return errors.Is(gm.G.Confirm(t.Context(), gm.C.ID, 0, p), confirm.ErrForgotten)
			})
			if !p.Confirmed(good) || p.Confirmed("1-1") {
				t.Errorf("confirmed: %t and %t, want the first only", p.Confirmed(good), p.Confirmed("1-1"))
			}
			for _, e := range to.Entries()[before:] {
				if e.Ref.ID != good {
					t.Errorf("published %+v", e)
				}
			}
			// Not confirmed while the stream is away, although it outlives the master.
			to.Refuse(true)
			p = wins()
			if err := gm.G.Confirm(t.Context(), gm.C.ID, 0, p); p.Confirmed(good) || err == nil {
				t.Errorf("confirmed %t without the stream (%v)", p.Confirmed(good), err)
			}
		})
	}
}

// What a relay holds may be settled at that moment by way of the winners' own node. It is told from what Redis has
// lost.
func TestWhatIsSettledMeanwhileMayLeave(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, _ := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 3})
			gm.UntilWon("p", gm.Drop(0))
			gm.UntilWon("q", gm.Drop(0))
			held := inOutbox(gm)
			lasts := func() (err error) {
				testenv.Eventually(t, time.Minute, "a replica acknowledges, where there is one", func() bool {
					err = gm.G.MayLeave(t.Context(), held)
					return !errors.Is(err, confirm.ErrNoReplica)
				})
				return err
			}
			if err := lasts(); err != nil {
				t.Error(err)
			}
			gm.Remove(held)
			if err := lasts(); err != nil {
				t.Error(err)
			}
			held[1].Wins[0].Packet++
			if err := lasts(); !errors.Is(err, confirm.ErrForgotten) {
				t.Errorf("another win: %v", err)
			}
			held[1].Wins[0].Packet--
			gm.Lose()
			if err := lasts(); !errors.Is(err, confirm.ErrForgotten) {
				t.Errorf("lost: %v", err)
			}
			held[1].Wins, held[1].Reclaim = nil, &rain.Reclaim{Numbers: rain.Numbers{{First: 1, Last: 1}}}
			if err := lasts(); !errors.Is(err, confirm.ErrForgotten) {
				t.Errorf("a reclaim that is lost: %v", err)
			}
		})
	}
}

// An heir that has not got the entry may have written another one under the same id: what was read does not last.
func TestAnotherEntryUnderTheSameIDIsNoProof(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, _ := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 3})
			drop := gm.Drop(0)
			gm.UntilWon("p", drop)
			held, key := inOutbox(gm), gm.G.Keys(gm.C.ID, 0).Outbox
			at, seal := strconv.FormatInt(held[0].SealedAt, 10), held[0].Wins[0].Seal
			for _, heir := range []struct {
				at, packets, wins string
				want              error
			}{
				{at, "0-0", seal + " " + drop + " p", nil}, // the same one
				{at, "0-0", seal + " " + drop + " q", confirm.ErrForgotten},
				{at, "1-1", seal + " " + drop + " p", confirm.ErrForgotten},
				{at, "0-0", "AAAAAAAAAAA " + drop + " p", confirm.ErrForgotten},
				{"1", "0-0", seal + " " + drop + " p", confirm.ErrForgotten},
				{at, "0-1", seal + " " + drop + " p\n" + seal + " " + drop + " q", confirm.ErrForgotten},
			} {
				if err := rdb.Del(t.Context(), key).Err(); err != nil {
					t.Fatal(err)
				}
				entry := &redis.XAddArgs{Stream: key, ID: held[0].Ref.ID,
					Values: []string{"at", heir.at, "packets", heir.packets, "wins", heir.wins}}
				if err := rdb.XAdd(t.Context(), entry).Err(); err != nil {
					t.Fatal(err)
				}
				testenv.Eventually(t, time.Minute, "a replica acknowledges, where there is one", func() bool {
					err := gm.G.MayLeave(t.Context(), held)
					if !errors.Is(err, confirm.ErrNoReplica) && !errors.Is(err, heir.want) {
						t.Errorf("%q: %v, want %v", heir.wins, err, heir.want)
					}
					return !errors.Is(err, confirm.ErrNoReplica)
				})
			}
		})
	}
}
