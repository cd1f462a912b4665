package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
)

// failover is a Cluster of a test's own, and two nodes on it.
type failover struct {
	t       *testing.T
	s       setting
	nodes   []*node
	nats    *testenv.Server
	rdb     *rds.ClusterClient
	servers []*testenv.Server
}

func newFailover(t *testing.T, confirm string) *failover {
	t.Helper()
	f := &failover{t: t, servers: testenv.StartRedisCluster(t), nats: testenv.StartNATS(t)}
	f.rdb = rds.NewClusterClient(&rds.ClusterOptions{Addrs: f.addrs()})
	t.Cleanup(func() { _ = f.rdb.Close() })
	f.s = setting{redis: strings.Join(f.addrs(), ","), nats: f.nats.URL, mysql: testenv.MySQL(t),
		namespace: testenv.Namespace(t)}
	cfg := f.s.config()
	cfg.Confirm = confirm
	f.nodes = startNodes(t, cfg, 2)
	return f
}

// addrs are where the Cluster's servers listen.
func (f *failover) addrs() []string {
	addrs := make([]string, len(f.servers))
	for i, s := range f.servers {
		addrs[i] = s.Addr
	}
	return addrs
}

// pair is the master that has a shard of a campaign, and its replica, once that follows.
func (f *failover) pair(campaign string, shard int) (master, replica *testenv.Server) {
	f.t.Helper()
	testenv.Eventually(f.t, time.Minute, "a master with its replica", func() bool {
		ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
		defer cancel()
		f.rdb.ReloadState(ctx)
		client, err := f.rdb.MasterForKey(ctx, f.s.key(campaign, shard, "state"))
		if err != nil {
			return false
		}
		role, err := client.Do(ctx, "ROLE").Slice()
		if err != nil || role[0] != "master" {
			return false
		}
		for _, follower := range role[2].([]any) {
			replica = f.server(net.JoinHostPort(fmt.Sprint(follower.([]any)[0]), fmt.Sprint(follower.([]any)[1])))
		}
		master = f.server(client.Options().Addr)
		return master != nil && replica != nil
	})
	return master, replica
}

// server is the one that listens there.
func (f *failover) server(addr string) *testenv.Server {
	i := slices.IndexFunc(f.servers, func(s *testenv.Server) bool { return s.Addr == addr })
	if i < 0 {
		return nil
	}
	return f.servers[i]
}

// awaitMaster waits until a replica has taken over.
func (f *failover) awaitMaster(s *testenv.Server) {
	f.t.Helper()
	rdb := rds.NewClient(&rds.Options{Addr: s.Addr})
	defer func() { _ = rdb.Close() }()
	testenv.Eventually(f.t, time.Minute, "the replica takes over", func() bool {
		role, err := rdb.Do(f.t.Context(), "ROLE").Slice()
		return err == nil && len(role) > 0 && role[0] == "master"
	})
}

// TestReplicaTakesOver: the campaign's master dies in the middle of a rain. Its replica has every reported win, and
// goes on with the rest.
func TestReplicaTakesOver(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for _, confirm := range []string{"replica", "stream"} {
		t.Run(confirm, func(t *testing.T) {
			testenv.ParallelFailover(t, testenv.Medium)
			f := newFailover(t, confirm)
			g := play(t, f.nodes, 1)
			master, replica := f.pair(g.campaign, 0)
			g.goesOn(100)
			master.Kill()
			f.awaitMaster(replica)
			if confirm == "stream" {
				g.goesOn(100) // alone: no other replica could take over
			}
			master.Start() // as the new one's replica: without one, "replica" reports nothing
			g.goesOn(100)
			g.end()
		})
	}
}

// witness is a player in a campaign of another master than the one that is about to fail. Their wins show the progress
// of the nodes.
func (f *failover) witness(failing *testenv.Server) *player {
	f.t.Helper()
	op := f.nodes[0].client
	spec := fund(f.t, f.nodes[0], "elsewhere", 1_000_000, 100)
	spec.Budget, spec.WinsPerUser = 10_000, 100
	for {
		c := createCampaign(f.t, op, spec)
		if master, _ := f.pair(c.ID, 0); master == failing {
			continue
		}
		startRain(f.t, op, c.ID, longRain(16))
		return join(f.t, f.nodes[1], "witness", c.ID)
	}
}

// paysInTheMeantime takes as long as some wins take to the ledger, one after the other.
func (p *player) paysInTheMeantime(t *testing.T) {
	t.Helper()
	for range 5 {
		won := p.winOne(t)
		p.await(t, 30*time.Second, "settlement", func() bool { return len(p.settled[won.Claim]) > 0 })
	}
}

// won is the number of given packets, by a master.
func (f *failover) won(master *testenv.Server, g *game) int64 {
	f.t.Helper()
	return testenv.Got(strconv.ParseInt(f.ask(master, "HGET", g, "state", "won").(string), 10, 64)).Must(f.t)
}

// newest is the outbox entry that a master has written last.
func (f *failover) newest(master *testenv.Server, g *game) string {
	f.t.Helper()
	return f.ask(master, "HGET", g, "state", "last").(string)
}

// knows reports whether a master has a win that came with an outbox entry.
func (f *failover) knows(master *testenv.Server, g *game, entry string) bool {
	f.t.Helper()
	return strings.Contains(fmt.Sprint(f.ask(master, "HVALS", g, "wins")), " "+entry+" ")
}

// ask has one server answer a command on a key of the campaign.
func (f *failover) ask(s *testenv.Server, command string, g *game, key string, args ...any) any {
	f.t.Helper()
	rdb := rds.NewClient(&rds.Options{Addr: s.Addr})
	defer func() { _ = rdb.Close() }()
	all := append([]any{command, f.s.key(g.campaign, 0, key)}, args...)
	return testenv.Got(rdb.Do(within(f.t, 20*time.Second), all...).Result()).Must(f.t)
}
