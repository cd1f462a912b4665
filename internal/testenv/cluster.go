package testenv

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const (
	masters     = 3
	slots       = 16384
	nodeTimeout = 2 * time.Second // after that long without a sign of life a replica takes over from its master
)

// RedisCluster returns the addresses of a Redis Cluster of three masters and three replicas that the tests of this
// binary share.
func RedisCluster(t T) []string {
	t.Helper()
	require(t, redisServer.needs...)
	addrs, err := sharedCluster()
	if err != nil {
		t.Fatalf("testenv: start redis cluster: %v", err)
	}
	return addrs
}

var sharedCluster = sync.OnceValues(func() (addrs []string, err error) {
	nodes, err := startCluster(startClusterNode)
	for _, n := range nodes {
		addrs = append(addrs, n.port.addr())
	}
	return addrs, err
})

// StartRedisCluster starts such a cluster of the test's own: first its masters, then the replica of each, in the
// same order.
func StartRedisCluster(t T) []*Server {
	t.Helper()
	require(t, redisServer.needs...)
	return ownCluster(t, startClusterNode)
}

func ownCluster(t T, start func(i int) (*clusterNode, error)) []*Server {
	t.Helper()
	nodes, err := startCluster(start)
	if err != nil {
		t.Fatalf("testenv: start redis cluster: %v", err)
	}
	servers := make([]*Server, len(nodes))
	for i, n := range nodes {
		t.Cleanup(n.bus.release)
		servers[i] = owned(t, n.process)
	}
	return servers
}

// clusterNode is a redis-server of a cluster and a connection to it.
type clusterNode struct {
	*process

	host string
	bus  port // of the nodes' cluster bus
	rdb  *redis.Client
	id   string
}

// startCluster makes a cluster as redis-cli --cluster create does, but looks every few milliseconds instead of every
// second.
func startCluster(start func(i int) (*clusterNode, error)) ([]*clusterNode, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	nodes := make([]*clusterNode, 2*masters)
	defer func() {
		for _, n := range nodes {
			if n != nil {
				_ = n.rdb.Close()
			}
		}
	}()
	var starting errgroup.Group
	for i := range nodes {
		starting.Go(func() (err error) { nodes[i], err = start(i); return err })
	}
	if err := starting.Wait(); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, []*clusterNode) error{shareSlots, introduce, replicate} {
		if err := step(ctx, nodes); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

func startClusterNode(int) (*clusterNode, error) {
	return launchClusterNode(redisServer, loopback, nil)
}

// launchClusterNode starts a node that listens at a host, with TLS if there is a configuration for clients.
func launchClusterNode(prog program, host string, secure *tls.Config, more ...string) (*clusterNode, error) {
	bus, err := freePort()
	if err != nil {
		return nil, err
	}
	prog.name = "redis-cluster"
	prog.command = func(p *process) (*exec.Cmd, error) {
		args := append([]string{"--cluster-enabled", "yes", "--cluster-port", bus.String(),
			"--cluster-node-timeout", strconv.FormatInt(nodeTimeout.Milliseconds(), 10),
			// A replica is listed after the first word from its master that follows its copy: not after ten seconds.
			"--repl-ping-replica-period", "1"}, more...)
		if secure != nil {
			args = append(args, "--port", "0", "--tls-port", p.port.String())
		}
		return redisCommand(p, args...)
	}
	p, err := launch(prog)
	if err != nil {
		bus.release()
		return nil, err
	}
	return &clusterNode{process: p, host: host, bus: bus, rdb: redis.NewClient(&redis.Options{
		Addr: net.JoinHostPort(host, p.port.String()), TLSConfig: secure})}, nil
}

// shareSlots gives each master its part of the slots, and each node a different epoch. Nodes with the same epoch would
// first have to resolve the conflict.
func shareSlots(ctx context.Context, nodes []*clusterNode) error {
	for i, n := range nodes {
		if err := n.rdb.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
		id, err := n.rdb.Do(ctx, "CLUSTER", "MYID").Text()
		if err != nil {
			return err
		}
		n.id = id
		if i < masters {
			if err := n.rdb.ClusterAddSlotsRange(ctx, i*slots/masters, (i+1)*slots/masters-1).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// introduce makes every node meet every other, because gossip alone takes seconds.
func introduce(ctx context.Context, nodes []*clusterNode) error {
	for i, n := range nodes {
		for _, other := range nodes[:i] {
			if err := n.rdb.Do(ctx, "CLUSTER", "MEET", other.host, other.port.String(),
				other.bus.String()).Err(); err != nil {
				return err
			}
		}
	}
	return untilAll(knowsAll)(ctx, nodes)
}

func replicate(ctx context.Context, nodes []*clusterNode) error {
	for i, n := range nodes[masters:] {
		if err := n.rdb.Do(ctx, "CLUSTER", "REPLICATE", nodes[i].id).Err(); err != nil {
			return err
		}
	}
	return untilAll(agrees)(ctx, nodes)
}

// untilAll repeats check until it succeeds for all nodes.
func untilAll(check func(context.Context, *clusterNode) error) func(context.Context, []*clusterNode) error {
	return func(ctx context.Context, nodes []*clusterNode) error {
		tick := time.NewTicker(probeEvery)
		defer tick.Stop()
		for {
			var wrong error
			for _, n := range nodes {
				wrong = errors.Join(wrong, check(ctx, n))
			}
			if wrong == nil {
				return nil
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("not within %v: %w", startWithin, wrong)
			}
		}
	}
}

// knowsAll: the node has shaken hands with all the others.
func knowsAll(ctx context.Context, n *clusterNode) error {
	list, err := n.rdb.ClusterNodes(ctx).Result()
	if err != nil {
		return err
	}
	known := strings.Count(list, "\n")
	if known != 2*masters || strings.Contains(list, "handshake") || strings.Contains(list, "noaddr") {
		return fmt.Errorf("node %s knows:\n%s", n.port.addr(), list)
	}
	return nil
}

// agrees: the node serves, and knows all the masters with slots and a replica of each. (A replica is online when it
// has its master's data, not before.)
func agrees(ctx context.Context, n *clusterNode) error {
	info, err := n.rdb.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "cluster_state:ok") {
		return fmt.Errorf("node %s: %s", n.port.addr(), info)
	}
	shards, err := n.rdb.ClusterShards(ctx).Result()
	if err != nil {
		return err
	}
	online := 0
	for _, shard := range shards {
		for _, member := range shard.Nodes {
			if len(shard.Slots) > 0 && member.Health == "online" {
				online++
			}
		}
	}
	if online != 2*masters {
		return fmt.Errorf("node %s knows %+v", n.port.addr(), shards)
	}
	return nil
}
