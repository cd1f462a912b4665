package grab

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

// A master is killed in the middle of a storm. Whoever was told of a win has it after the failover, and no packet
// is given twice.
func TestAFailoverLosesNoWinThatWasTold(t *testing.T) {
	const crews, each, shards = 60, 40, 6 // the shards are on all masters; a crew's players come one after the other
	const players = crews * each
	nodes := testenv.StartRedisCluster(t)
	addrs := make([]string, len(nodes))
	byAddr := map[string]*testenv.Server{}
	for i, n := range nodes {
		addrs[i] = n.Addr
		byAddr[n.Addr] = n
	}
	rdb, ok := connect(t, strings.Join(addrs, ",")).(*redis.ClusterClient)
	if !ok {
		t.Fatal("no cluster")
	}
	gm := replicated(t, rdb, setup{packets: players * 2 / 3, shards: shards, split: rain.DoubleMean})
	victim := byAddr[masterOf(t, rdb, gm.g.keys.shard(gm.c.ID, 0).state)]
	other := gm.node().Gate(gm.c)

	var mu sync.Mutex
	told := map[string]rain.Win{}
	outcomes := map[Outcome]int{} // what each player was told in the end
	enough := make(chan struct{}) // closed when a third has an answer: then the master dies
	answered := 0
	var storm sync.WaitGroup
	play := func(gate *Gate, user string) {
		// A drop that has landed is no use any more.
		r, drop := Result{Outcome: Late}, ""
		for r.Outcome == Late {
			drop = gm.drop(0)
			for r = tapOn(gate, user, drop); r.Outcome == Unavailable; {
				r = tapOn(gate, user, drop)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if r.Outcome == Won {
			told[user] = rain.Win{User: user, Packet: r.Packet, Amount: r.Amount, Drop: drop}
		}
		outcomes[r.Outcome]++
		if answered++; answered == players/3 {
			close(enough)
		}
	}
	for crew := range crews {
		gate := gm.gate
		if crew%2 == 0 {
			gate = other
		}
		storm.Go(func() {
			for i := range each {
				play(gate, "player "+itoa(int64(crew))+"."+itoa(int64(i)))
			}
		})
	}
	<-enough
	victim.Kill()
	// The one that takes over has no replica until the dead one comes back as such.
	testenv.Eventually(t, time.Minute, "its replica takes over", func() bool {
		_, err := gm.g.Levels(t.Context(), gm.c)
		return err == nil && masterOf(t, rdb, gm.g.keys.shard(gm.c.ID, 0).state) != victim.Addr
	})
	victim.Start()
	storm.Wait()

	recorded := gm.wins() // fails where a packet is there twice
	for user, w := range told {
		if got := recorded[w.Packet]; got != w {
			t.Errorf("%s was told of %+v, the outbox has %+v", user, w, got)
		}
	}
	owners := map[string]bool{}
	for _, w := range recorded {
		if owners[w.User] {
			t.Errorf("%s has won twice", w.User)
		}
		owners[w.User] = true
	}
	gm.balance()
	t.Logf("%d were told of a win, %d wins are recorded; outcomes %v", len(told), len(recorded), outcomes)
	if len(told) == 0 {
		t.Error("nobody was told of a win")
	}
}
