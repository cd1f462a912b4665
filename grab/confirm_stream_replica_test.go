package grab

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// reading reads and claims all entries, as a relay does. None is an error where they may not leave Redis.
func (gm *game) reading() (all []rain.Entry, failures []error) {
	gm.t.Helper()
	read, err := gm.g.Read(gm.t.Context(), gm.c.ID, 0, "a", 100)
	if err != nil {
		failures = append(failures, err)
	}
	claimed, err := gm.g.Claim(gm.t.Context(), gm.c.ID, 0, "b", 0, 100)
	if err != nil {
		failures = append(failures, err)
	}
	return append(read, claimed...), failures
}

// With ConfirmStream, what a replica has not got is neither told nor paid.
func TestTheStreamComesAfterTheReplica(t *testing.T) {
	master := testenv.StartRedis(t)
	replica := testenv.StartReplica(t, master)
	gm, to := streaming(t, connect(t, master.Addr), setup{packets: 20})
	k, copied, drop := gm.g.keys.shard(gm.c.ID, 0), connect(t, replica.Addr), gm.drop(0)
	to.mu.Lock()
	to.before = func(ctx context.Context, e rain.Entry) error {
		text, err := copied.HGet(ctx, k.wins, e.Wins[0].User).Result()
		if err != nil || !strings.HasSuffix(text, "="+e.Ref.ID) {
			t.Errorf("published %+v, and the replica has %q (%v)", e, text, err)
		}
		return nil
	}
	to.mu.Unlock()
	gm.untilWon("p", drop)
	testenv.Eventually(t, time.Minute, "the win is told again", func() bool { return len(gm.confirmed("p")) == 1 })
	to.refuse(false)

	replica.Freeze()
	published := len(to.entries())
	results := gm.batchOf([2]string{"q", drop}, [2]string{"p", gm.drop(1)})
	if results[0].Outcome != Unavailable || results[1].Outcome != Already {
		t.Errorf("%v, want unavailable for the winner only", results)
	}
	gm.want("q", drop, Unavailable)
	if r := tapOn(gm.node().Gate(gm.c), "q", drop); r.Outcome != Unavailable { // which knows nothing of the replica yet
		t.Errorf("on another node: %v", r)
	}
	if got := gm.confirmed("q"); got != nil {
		t.Errorf("told of %v, which no replica has", got)
	}
	if all, failures := gm.reading(); len(all) != 0 || len(failures) != 2 {
		t.Errorf("%+v left Redis; failures %v", all, failures)
	}
	if n := len(to.entries()); n != published {
		t.Errorf("%d entries were published that no replica has", n-published)
	}
	replica.Thaw()
	gm.untilWon("q", drop)
	testenv.Eventually(t, time.Minute, "all entries may leave", func() bool {
		all, _ := gm.reading()
		return reflect.DeepEqual(all, gm.outbox())
	})
	gm.balance()
}

// Where a master stands alone nobody is waited for, and as soon as it does not any more its replica is.
func TestTheStreamWaitsForNoReplicaThatHasGone(t *testing.T) {
	master := testenv.StartRedis(t)
	replica := testenv.StartReplica(t, master)
	gm, _ := streaming(t, connect(t, master.Addr), setup{packets: 20})
	drop := gm.drop(0)
	gm.untilWon("p", drop)
	replica.Kill()
	gm.untilWon("q", drop)
	gm.want("r", drop, Won)
	if n := len(gm.read("a", 10)); n != 3 {
		t.Errorf("%d of 3 entries may leave", n)
	}

	replica.Start()
	testenv.Eventually(t, time.Minute, "the replica is back", func() bool {
		info, err := gm.rdb.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "state=online")
	})
	replica.Freeze()
	gm.want("s", drop, Unavailable) // also at once: that there was no replica is not remembered
	if all, failures := gm.reading(); len(all) != 0 || len(failures) != 2 {
		t.Errorf("%+v left Redis; failures %v", all, failures)
	}
	replica.Thaw()
	gm.untilWon("s", drop)
	gm.balance()
}

// A master that has taken over without a win publishes nothing of it: it is going to give the packet again.
func TestWhatAMasterDoesNotHaveIsNotPublished(t *testing.T) {
	for name, replicas := range map[string]int{"alone": 0, "with a replica": 1} {
		t.Run(name, func(t *testing.T) {
			master := testenv.StartRedis(t)
			for range replicas {
				testenv.StartReplica(t, master)
			}
			gm, to := streaming(t, connect(t, master.Addr), setup{packets: 3})
			r := gm.untilWon("p", gm.drop(0))
			win := rain.Win{User: "p", Packet: r.Packet, Amount: r.Amount, Drop: gm.drop(0)}
			lost := rain.Win{User: "q", Packet: 1, Amount: 100, Drop: win.Drop}
			good := &promise{entry: gm.outbox()[0].Ref.ID, witness: win, wins: []rain.Win{win}}
			bad := &promise{entry: "1-1", witness: lost, wins: []rain.Win{lost}}
			before := len(to.entries())
			testenv.Eventually(t, time.Minute, "a confirmation", func() bool {
				return gm.g.confirmer.confirm(t.Context(), gm.c.ID, 0, []*promise{good, bad}) == nil
			})
			if !good.kept || bad.kept {
				t.Errorf("kept: %t and %t, want the first only", good.kept, bad.kept)
			}
			for _, e := range to.entries()[before:] {
				if e.Ref.ID != good.entry {
					t.Errorf("published %+v", e)
				}
			}
			// Not kept while the stream is away, although it outlives the master.
			to.refuse(true)
			err := gm.g.confirmer.confirm(t.Context(), gm.c.ID, 0, []*promise{good})
			if good.kept || err == nil {
				t.Errorf("kept %t without the stream (%v)", good.kept, err)
			}
		})
	}
}

// What a relay holds may be settled at that moment by way of the winners' own node. It is told from what Redis has
// lost.
func TestWhatIsSettledMeanwhileMayLeave(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, _ := streaming(t, rdb, setup{packets: 3})
			gm.untilWon("p", gm.drop(0))
			gm.untilWon("q", gm.drop(0))
			held := gm.outbox()
			lasts := func() (err error) {
				testenv.Eventually(t, time.Minute, "a replica acknowledges, where there is one", func() bool {
					_, err = gm.g.lasting(t.Context(), gm.c.ID, 0, held)
					return !errors.Is(err, errNoReplica)
				})
				return err
			}
			if err := lasts(); err != nil {
				t.Error(err)
			}
			gm.remove(held)
			if err := lasts(); err != nil {
				t.Error(err)
			}
			held[1].Wins[0].Amount++
			if err := lasts(); !errors.Is(err, errForgotten) {
				t.Errorf("another win: %v", err)
			}
			held[1].Wins[0].Amount--
			gm.lose()
			if err := lasts(); !errors.Is(err, errForgotten) {
				t.Errorf("lost: %v", err)
			}
			held[1].Wins, held[1].Reclaim = nil, &rain.Reclaim{Packets: 1, Amount: 1}
			if err := lasts(); !errors.Is(err, errForgotten) {
				t.Errorf("a reclaim that is lost: %v", err)
			}
		})
	}
}
