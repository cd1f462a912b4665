package e2e

import (
	"fmt"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/server/config"
)

// Secrets of the nodes under test.
const (
	operatorToken = "operator-token-of-the-tests"
	viewerToken   = "viewer-token-of-the-tests"
	jwtSecret     = "secret-of-the-tests-that-is-long-enough"
)

// setting is a set of back ends that nodes of one test share.
type setting struct {
	redis, nats, mysql string
	namespace          string
}

// backends are a set of back ends, and how many nodes share it.
type backends struct {
	name  string
	nodes int
	make  func(t *testing.T) setting
}

// backendsUnderTest are the sets that a test of the whole runs on.
var backendsUnderTest = []backends{
	{"in-process", 1, func(*testing.T) setting { return setting{} }},
	{"real", 1, realSetting},
	{"cluster-two-nodes", 2, clusterSetting},
}

// parallel is [testenv.Parallel] on the set.
func (b backends) parallel(t *testing.T, load int) {
	t.Helper()
	if b.nodes > 1 {
		testenv.ParallelFailover(t, load)
	} else {
		testenv.Parallel(t, load)
	}
}

// pagesUnderTest are the simplest set and the largest: pages take long, and would show nothing else on the one between.
var pagesUnderTest = []backends{backendsUnderTest[0], backendsUnderTest[2]}

// realSetting is one real server of each kind.
func realSetting(t *testing.T) setting {
	t.Helper()
	return setting{redis: testenv.Redis(t), nats: testenv.NATS(t), mysql: testenv.MySQL(t),
		namespace: testenv.Namespace(t)}
}

// clusterSetting has a Redis Cluster of six nodes, of which redrain gets one address.
func clusterSetting(t *testing.T) setting {
	t.Helper()
	return setting{
		redis: testenv.RedisCluster(t)[0], nats: testenv.NATS(t), mysql: testenv.MySQL(t),
		namespace: testenv.Namespace(t),
	}
}

// key is a key of one shard, as grab/store/keys.go names it.
func (s setting) key(campaign string, shard int, name string) string {
	return fmt.Sprintf("%s:{%s.%d}:%s", s.namespace, campaign, shard, name)
}

// config is a node's configuration on the setting.
func (s setting) config() config.Config {
	c := config.Default()
	c.Listen = "127.0.0.1:0"
	c.Redis, c.NATS, c.MySQL = s.redis, s.nats, s.mysql
	c.OperatorToken, c.ViewerToken, c.JWTSecret = operatorToken, viewerToken, jwtSecret
	c.TapRate, c.PerUser = 0, 0 // the players of the tests are faster than people, and more at once
	c.Demo = false
	c.DrainTimeout, c.DrainDelay = 10*time.Second, new(time.Duration)
	if s.namespace != "" {
		c.Namespace = s.namespace
	}
	guests := true
	c.Guests, c.GuestsWithdraw = &guests, &guests
	return c
}
