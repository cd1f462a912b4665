package confirm_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
)

// toldWins are the wins that players were notified of. Each record in the hash of wins begins with the packet.
type toldWins map[string]string

// play lets a player win and receive the result.
func (w toldWins) play(gm *grabtest.Game, user string) {
	gm.T.Helper()
	drop := gm.Drop(lasting)
	testenv.Eventually(gm.T, time.Minute, user+" receives the win", func() bool {
		switch r := gm.Tap(user, drop); r.Outcome {
		case outcome.Won:
			w[user+"\n"+drop] = strconv.Itoa(r.Packet) + " "
			return true
		case outcome.Unavailable:
			return false
		default: // the drop has landed meanwhile
			return w.know(gm, user)
		}
	})
}

// lasting is the index of a drop that is in the air for some ten seconds more.
const lasting = 400

// later waits until a winner receives the win.
func (w toldWins) later(gm *grabtest.Game, user string) {
	gm.T.Helper()
	testenv.Eventually(gm.T, time.Minute, user+" receives the win", func() bool { return w.know(gm, user) })
}

// know reports whether a player receives a win with the welcome.
func (w toldWins) know(gm *grabtest.Game, user string) bool {
	gm.T.Helper()
	won := gm.Confirmed(user)
	for _, win := range won {
		w[user+"\n"+win.Drop] = strconv.Itoa(win.Packet) + " "
	}
	return len(won) > 0
}

// on checks that a server has all of them.
func (w toldWins) on(gm *grabtest.Game, rdb redis.Cmdable, who string) {
	gm.T.Helper()
	for field, packet := range w {
		text, err := rdb.HGet(gm.T.Context(), gm.G.Keys(gm.C.ID, 0).Wins, field).Result()
		if err != nil || !strings.HasPrefix(text, packet) {
			gm.T.Errorf("%s has %q of %q, want packet %s (%v)", who, text, field, packet, err)
		}
	}
}

// refused checks that a winner is not notified, and that no entry of the win leaves Redis.
func refused(gm *grabtest.Game, user string) {
	gm.T.Helper()
	gm.Want(user, gm.Drop(lasting), outcome.Unavailable)
	testenv.Equal(gm.T, gm.Confirmed(user), nil, "confirmed wins of %s", user)
	if all, err := reading(gm); len(all) != 0 || err == nil {
		gm.T.Errorf("%+v left Redis (%v)", all, err)
	}
}

// Either of two replicas may become master. While one of them lacks a win, the player is not notified and the win is
// not paid.
func TestEveryHeirHasAWinThatIsTold(t *testing.T) {
	t.Parallel()
	for _, mode := range []confirm.Mode{confirm.Replica, confirm.Stream} {
		t.Run(mode.String(), func(t *testing.T) {
			testenv.Parallel(t, testenv.Medium)
			master := testenv.StartRedis(t)
			candidates := []*testenv.Server{testenv.StartReplica(t, master), testenv.StartReplica(t, master)}
			rdb := grabtest.Connect(t, master.Addr)
			gm := grabtest.Replicated(t, rdb, grabtest.Setup{Packets: 20})
			if mode == confirm.Stream {
				gm, _ = grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 20})
			}
			told := toldWins{}
			told.play(gm, "before")
			for i, away := range candidates {
				away.Freeze()
				user := "frozen " + strconv.Itoa(i)
				refused(gm, user)
				refused(gm, user+" too") // also if the node knows the win already
				away.Thaw()
				told.later(gm, user)
			}
			master.Kill()
			for i, heir := range candidates {
				told.on(gm, grabtest.Connect(t, heir.Addr), "heir "+strconv.Itoa(i))
			}
		})
	}
}

// A single server's replica that has gone is not waited for, and one that comes is.
func TestReplicasThatComeAndGo(t *testing.T) {
	testenv.Parallel(t, testenv.Medium)
	master := testenv.StartRedis(t)
	first := testenv.StartReplica(t, master)
	gm := grabtest.Replicated(t, grabtest.Connect(t, master.Addr), grabtest.Setup{Packets: 20})
	told := toldWins{}
	told.play(gm, "one")
	second := testenv.StartReplica(t, master)
	told.on(gm, grabtest.Connect(t, second.Addr), "who has just come")
	second.Freeze()
	refused(gm, "two") // players who were there before still count on it
	second.Kill()
	told.later(gm, "two")
	told.play(gm, "three")
	first.Freeze()
	refused(gm, "four")
	first.Thaw()
	told.later(gm, "four")
	gm.Balance()
}

// A replica with the priority 0 never becomes master. No win waits for it, and its copy of a win proves nothing.
func TestAReplicaWithoutPriorityIsNoHeir(t *testing.T) {
	testenv.Parallel(t, testenv.Medium)
	master := testenv.StartRedis(t)
	heir, never := testenv.StartReplica(t, master), testenv.StartReplica(t, master)
	testenv.Must(t, grabtest.Connect(t, never.Addr).ConfigSet(t.Context(), "replica-priority", "0").Err())
	gm := grabtest.Replicated(t, grabtest.Connect(t, master.Addr), grabtest.Setup{Packets: 20})
	told := toldWins{}
	told.play(gm, "before")
	never.Freeze()
	gm.Want("frozen", gm.Drop(lasting), outcome.Won) // at once
	never.Thaw()
	heir.Freeze()
	refused(gm, "other")
	heir.Thaw()
	told.later(gm, "other")
	told.on(gm, grabtest.Connect(t, heir.Addr), "the heir")
}

// clusterOfHeirs is a Cluster in which the master of a game's only shard has two replicas.
type clusterOfHeirs struct {
	gm         *grabtest.Game
	master     *testenv.Server
	candidates []*testenv.Server
	as         []*redis.Client // of the two candidates and of the master
}

func startHeirs(t *testing.T) *clusterOfHeirs {
	t.Helper()
	nodes := testenv.StartRedisCluster(t)
	addrs := make([]string, len(nodes))
	for i, n := range nodes {
		addrs[i] = n.Addr
	}
	rdb, ok := grabtest.Connect(t, strings.Join(addrs, ",")).(*redis.ClusterClient)
	if !ok {
		t.Fatal("no cluster")
	}
	gm := grabtest.Replicated(t, rdb, grabtest.Setup{Packets: 20})
	const masters = 3
	on := 0
	for addr := grabtest.MasterOf(t, rdb, gm.G.Keys(gm.C.ID, 0).State); nodes[on].Addr != addr; {
		on++
	}
	c := &clusterOfHeirs{gm: gm, master: nodes[on],
		candidates: []*testenv.Server{nodes[masters+on], nodes[masters+(on+1)%masters]}}
	for _, s := range append(c.candidates, c.master) {
		client := redis.NewClient(&redis.Options{Addr: s.Addr})
		t.Cleanup(func() { _ = client.Close() })
		c.as = append(c.as, client)
	}
	id := testenv.Got(c.as[2].Do(t.Context(), "CLUSTER", "MYID").Text()).Must(t)
	// The second one has been another master's.
	testenv.Must(t, c.as[1].ClusterReplicate(t.Context(), id).Err())
	c.until("both copy their master", func() bool {
		info := c.as[2].Info(t.Context(), "replication").Val()
		return strings.Count(info, "state=online") == 2 && c.says(" slave "+id) == 2
	})
	return c
}

func (c *clusterOfHeirs) until(what string, is func() bool) {
	c.gm.T.Helper()
	testenv.Eventually(c.gm.T, time.Minute, what, is)
}

// set sets an option of a server.
func (c *clusterOfHeirs) set(server int, name, to string) {
	c.gm.T.Helper()
	testenv.Must(c.gm.T, c.as[server].ConfigSet(c.gm.T.Context(), name, to).Err())
}

// says returns the number of times that the text occurs in the master's CLUSTER NODES.
func (c *clusterOfHeirs) says(what string) int {
	return strings.Count(c.as[2].ClusterNodes(c.gm.T.Context()).Val(), what)
}

// flagged waits until the master knows a flag of a failover candidate.
func (c *clusterOfHeirs) flagged(heir int, flag string) {
	c.gm.T.Helper()
	c.until("the master has the flag "+flag, func() bool {
		for line := range strings.Lines(c.as[2].ClusterNodes(c.gm.T.Context()).Val()) {
			f := strings.Fields(line)
			if strings.HasPrefix(f[1], c.candidates[heir].Addr+"@") && strings.HasSuffix(f[2], flag) {
				return true
			}
		}
		return false
	})
}

// A frozen replica of a Cluster counts as long as Redis may elect it, even if the Cluster has declared it dead. Here
// that is for ever. Either candidate that takes over has all the wins that players were notified of.
func TestEitherHeirOfAClusterHasTheToldWins(t *testing.T) {
	t.Parallel()
	for heir, name := range []string{"the one that was there", "the one that was frozen"} {
		t.Run(name, func(t *testing.T) {
			testenv.ParallelFailover(t, testenv.Medium)
			c := startHeirs(t)
			told := toldWins{}
			c.set(2, "cluster-replica-validity-factor", "0")
			told.play(c.gm, "before")
			c.candidates[1].Freeze()
			refused(c.gm, "lost")
			c.flagged(1, ",fail")
			refused(c.gm, "lost too")
			c.master.Kill()
			c.candidates[1].Thaw()
			c.until("it takes over", func() bool {
				c.as[heir].Do(t.Context(), "CLUSTER", "FAILOVER", "TAKEOVER")
				info := c.as[heir].Info(t.Context(), "replication").Val()
				return strings.Contains(info, "role:master")
			})
			told.on(c.gm, c.as[heir], name)
			told.play(c.gm, "after") // the other one follows it
			c.gm.Wins()              // fails if a packet is won twice
			c.gm.Balance()
		})
	}
}

// A win does not wait for replicas that Redis never elects: those with the flag nofailover, and those that were
// disconnected for too long.
func TestWhoIsBarredFromAClusterIsNoHeir(t *testing.T) {
	testenv.ParallelFailover(t, testenv.Medium)
	c := startHeirs(t)
	told := toldWins{}
	c.set(1, "cluster-replica-no-failover", "yes")
	c.flagged(1, ",nofailover")
	c.candidates[1].Freeze()
	told.play(c.gm, "nobody waits for it")
	c.candidates[1].Thaw()
	c.candidates[0].Freeze()
	refused(c.gm, "it is nobody's witness")
	c.candidates[0].Thaw()
	told.later(c.gm, "it is nobody's witness")

	// With these settings Redis elects no replica that has received nothing from the master for five seconds.
	c.set(2, "cluster-replica-validity-factor", "1")
	c.set(2, "repl-timeout", "600") // it stays connected, and is not waited for all the same
	c.set(1, "cluster-replica-no-failover", "no")
	c.flagged(1, "slave")
	c.gm.G = c.gm.Node() // which does not remember that it was barred
	c.gm.Gate = c.gm.G.Gate(c.gm.C)
	until := time.Now()
	c.candidates[1].Freeze()
	told.play(c.gm, "the last")
	if took := time.Since(until); took < 5*time.Second {
		t.Errorf("it was barred after %v", took)
	}
}
