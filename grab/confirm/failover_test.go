package confirm_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

// A master is killed in the middle of a storm. All players who were notified of a win have it after the failover. No
// packet is won twice.
func TestAFailoverLosesNoWinThatWasTold(t *testing.T) {
	testenv.ParallelFailover(t, testenv.Medium)
	const crews, each, shards = 60, 40, 6 // the shards are on all masters; a crew's players come one after the other
	const players = crews * each
	nodes := testenv.StartRedisCluster(t)
	addrs := make([]string, len(nodes))
	byAddr := map[string]*testenv.Server{}
	for i, n := range nodes {
		addrs[i] = n.Addr
		byAddr[n.Addr] = n
	}
	rdb, ok := grabtest.Connect(t, strings.Join(addrs, ",")).(*redis.ClusterClient)
	if !ok {
		t.Fatal("no cluster")
	}
	gm := grabtest.Replicated(t, rdb, grabtest.Setup{Packets: players * 2 / 3, Shards: shards, Split: rain.DoubleMean})
	victim := byAddr[grabtest.MasterOf(t, rdb, gm.G.Keys(gm.C.ID, 0).State)]
	other := gm.Node().Gate(gm.C)

	var mu sync.Mutex
	told := map[string]rain.Win{}
	outcomes := map[outcome.Outcome]int{} // the last outcome that each player received
	enough := make(chan struct{})         // closed when a third has an answer: then the master dies
	answered := 0
	var storm sync.WaitGroup
	play := func(gate *grabtest.Gate, user string) {
		// A drop that has landed is no use any more.
		r, drop := outcome.Result{Outcome: outcome.Late}, ""
		for r.Outcome == outcome.Late {
			drop = gm.Drop(0)
			for r = grabtest.TapOn(gate, user, drop); r.Outcome == outcome.Unavailable; {
				r = grabtest.TapOn(gate, user, drop)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if r.Outcome == outcome.Won {
			told[user] = rain.Win{User: user, Packet: r.Packet, Amount: r.Amount, Drop: drop}
		}
		outcomes[r.Outcome]++
		if answered++; answered == players/3 {
			close(enough)
		}
	}
	for crew := range crews {
		gate := gm.Gate
		if crew%2 == 0 {
			gate = other
		}
		storm.Go(func() {
			for i := range each {
				play(gate, "player "+strconv.Itoa(crew)+"."+strconv.Itoa(i))
			}
		})
	}
	<-enough
	victim.Kill()
	// The one that takes over has no replica until the dead one comes back as such.
	testenv.Eventually(t, time.Minute, "its replica takes over", func() bool {
		l, err := gm.G.Levels(t.Context(), gm.C)
		return err == nil && l.Unknown == 0 && grabtest.MasterOf(t, rdb, gm.G.Keys(gm.C.ID, 0).State) != victim.Addr
	})
	victim.Start()
	storm.Wait()

	recorded := gm.Wins() // fails if a packet is won twice
	for user, w := range told {
		testenv.Equal(t, recorded[w.Packet], w, "the result of %s, in the outbox", user)
	}
	owners := map[string]bool{}
	for _, w := range recorded {
		if owners[w.User] {
			t.Errorf("%s has won twice", w.User)
		}
		owners[w.User] = true
	}
	gm.Balance()
	t.Logf("%d received a win, %d wins are recorded; outcomes %v", len(told), len(recorded), outcomes)
	if len(told) == 0 {
		t.Error("no player received a win")
	}
}

// reading reads all entries, as a relay does. It returns an error if they may not leave Redis.
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

// Entries that a relay holds may be settled at that moment, through the winners' own node. MayLeave distinguishes them
// from entries that Redis has lost.
func TestWhatIsSettledMeanwhileMayLeave(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
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
		testenv.Must(t, lasts())
		gm.Remove(held)
		testenv.Must(t, lasts())
		held[1].Wins[0].Packet++
		testenv.WantErr(t, lasts(), confirm.ErrForgotten, "another win")
		held[1].Wins[0].Packet--
		gm.Lose()
		testenv.WantErr(t, lasts(), confirm.ErrForgotten, "lost")
		held[1].Wins, held[1].Reclaim = nil, &rain.Reclaim{Numbers: rain.Numbers{{First: 1, Last: 1}}}
		testenv.WantErr(t, lasts(), confirm.ErrForgotten, "a reclaim that is lost")
	})
}

// A failover candidate without the entry may have written another one under the same id. Then the entry that was read
// does not last.
func TestAnotherEntryUnderTheSameIDIsNoProof(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
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
			testenv.Must(t, rdb.Del(t.Context(), key).Err())
			entry := &redis.XAddArgs{Stream: key, ID: held[0].Ref.ID,
				Values: []string{"at", heir.at, "packets", heir.packets, "wins", heir.wins}}
			testenv.Must(t, rdb.XAdd(t.Context(), entry).Err())
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
