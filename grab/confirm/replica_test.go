package confirm_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestAWinIsToldWhenAReplicaHasIt(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	master := testenv.StartRedis(t)
	replica := testenv.StartReplica(t, master)
	gm := grabtest.Replicated(t, grabtest.Connect(t, master.Addr), grabtest.Setup{Packets: 3})
	copied := grabtest.Connect(t, replica.Addr)
	drop := gm.Drop(0)
	first := gm.UntilWon("p", drop)
	// There is no wait here: the replica had the win before the player was notified.
	text, err := copied.HGet(t.Context(), gm.G.Keys(gm.C.ID, 0).Wins, "p\n"+drop).Result()
	if err != nil || !strings.HasPrefix(text, strconv.Itoa(first.Packet)+" ") {
		t.Errorf("the replica has %q (%v)", text, err)
	}
	testenv.Got(copied.Exists(t.Context(), gm.G.Keys(gm.C.ID, 0).Confirmed).Result()).Want(t, 1,
		"keys of the write that it acknowledged")
	testenv.Eventually(t, time.Minute, "the win is reported again", func() bool { return len(gm.Confirmed("p")) == 1 })

	replica.Freeze()
	results := gm.BatchOf([2]string{"q", drop}, [2]string{"p", gm.Drop(1)})
	if results[0].Outcome != outcome.Unavailable || results[1].Outcome != outcome.Already {
		t.Errorf("%v, want unavailable for the winner only", results)
	}
	// A replay writes nothing. The player is not notified all the same.
	gm.Want("q", drop, outcome.Unavailable)
	elsewhere := *gm
	elsewhere.RDB = grabtest.Connect(t, master.Addr) // whose connections have written nothing that WAIT could wait for
	elsewhere.Gate = elsewhere.Node().Gate(gm.C)
	elsewhere.Want("q", drop, outcome.Unavailable)
	testenv.Equal(t, gm.Confirmed("q"), nil, "wins that no replica has")
	testenv.Equal(t, gm.Confirmed("nobody"), nil, "no win")
	replica.Thaw()
	second := gm.UntilWon("q", drop)
	testenv.Equal(t, second, elsewhere.UntilWon("q", drop), "on two nodes")
	testenv.Equal(t, len(gm.Wins()), 2, "wins")
	gm.Balance()

	replica.Kill()
	gm.Want("r", drop, outcome.Unavailable)
	replica.Start()
	gm.UntilWon("r", drop)
	gm.Balance()
}

// A master that has taken over without a win must not be taken for its proof.
func TestAMasterWithoutTheWinProvesNothing(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	master := testenv.StartRedis(t)
	testenv.StartReplica(t, master)
	gm := grabtest.Replicated(t, grabtest.Connect(t, master.Addr), grabtest.Setup{Packets: 3})
	r := gm.UntilWon("p", gm.Drop(0))
	win := rain.Win{User: "p", Packet: r.Packet, Amount: r.Amount, Drop: gm.Drop(0)}
	entry := gm.Outbox()[0].Ref.ID
	confirmed := func(entry string, win rain.Win) bool {
		var p confirm.Pending
		p.Add(entry, win, nil)
		testenv.Eventually(t, time.Minute, "a replica acknowledges", func() bool {
			err := gm.G.Confirm(t.Context(), gm.C.ID, 0, &p)
			return err == nil || errors.Is(err, confirm.ErrForgotten)
		})
		return p.Confirmed(entry)
	}
	if confirmed("1-1", win) {
		t.Error("confirmed for another entry")
	}
	if confirmed(entry, rain.Win{User: "q", Packet: 1, Amount: 100, Drop: win.Drop}) {
		t.Error("confirmed without a record")
	}
	if confirmed(entry[:len(entry)-1], win) {
		t.Error("confirmed for an entry whose id begins like the win's")
	}
	if !confirmed(entry, win) {
		t.Error("a win that is there was not confirmed")
	}
}

func TestReplicasOfAClusterConfirm(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	rdb := grabtest.Connect(t, strings.Join(testenv.RedisCluster(t), ","))
	gm := grabtest.Replicated(t, rdb, grabtest.Setup{Packets: 60, Shards: 6})
	for i := range 30 {
		user := "p" + strconv.Itoa(i)
		r := gm.UntilWon(user, gm.Drop(0))
		testenv.Eventually(t, time.Minute, "the win is reported again", func() bool {
			got := gm.Confirmed(user)
			return len(got) == 1 && got[0].Packet == r.Packet
		})
	}
	gm.Balance()
}
