package e2e

import (
	"context"
	"database/sql"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

// detour is a proxy before a server. It can lead to another one.
type detour struct {
	listener net.Listener

	mu    sync.Mutex
	to    string
	conns map[net.Conn]bool
}

func newDetour(t *testing.T, to string) *detour {
	t.Helper()
	l := testenv.Got(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")).Must(t)
	d := &detour{listener: l, to: to, conns: map[net.Conn]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { d.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		d.lead("")
		all.Wait()
	})
	return d
}

func (d *detour) addr() string { return d.listener.Addr().String() }

// lead cuts all connections. New ones lead to a server.
func (d *detour) lead(to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
	for conn := range d.conns {
		_ = conn.Close()
	}
	clear(d.conns)
}

func (d *detour) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	d.mu.Lock()
	to := d.to
	d.mu.Unlock()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	d.mu.Lock()
	if d.to != to {
		d.mu.Unlock()
		return
	}
	d.conns[client], d.conns[server] = true, true
	d.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
		both.Go(func() {
			_, _ = io.Copy(to, from)
			_ = client.Close()
			_ = server.Close()
		})
	}
	both.Wait()
	d.mu.Lock()
	delete(d.conns, client)
	delete(d.conns, server)
	d.mu.Unlock()
}

// splitFor is the time for which both masters take taps.
const splitFor = 5 * time.Second

// playSplitBrain promotes the replica of a single server, and node 1 follows it. Node 0 stays on the living old master
// for five seconds, and follows then.
func playSplitBrain(c *clusterCell) {
	old := testenv.StartRedis(c.t)
	promoted := testenv.StartReplica(c.t, old)
	roads := []*detour{newDetour(c.t, old.Addr), newDetour(c.t, old.Addr)}
	own := &failover{t: c.t, nats: c.nats, servers: []*testenv.Server{old, promoted},
		s: setting{nats: c.nats.URL, mysql: testenv.MySQL(c.t), namespace: testenv.Namespace(c.t)}}
	for _, road := range roads {
		own.s.redis = road.addr()
		cfg := own.s.config()
		cfg.Confirm = c.confirm
		own.nodes = append(own.nodes, startNode(c.t, cfg))
	}
	c.failover = own
	c.begin(gameRules{name: "split", shards: 2})
	c.g.goesOn(40)
	replicaOf(c.t, promoted, "NO", "ONE")
	roads[1].lead(promoted.Addr)
	reported := c.g.reported()
	<-time.After(splitFor)
	reported = c.g.reported() - reported
	host, port, err := net.SplitHostPort(promoted.Addr)
	testenv.Must(c.t, err)
	replicaOf(c.t, old, host, port)
	roads[0].lead(promoted.Addr)
	c.note("%d wins reported while two masters took taps", reported)
	if c.confirm == "redis" {
		c.isTorn = true
		return
	}
	c.g.goesOn(40)
	c.resume(false)
}

func replicaOf(t *testing.T, s *testenv.Server, host, port string) {
	t.Helper()
	rdb := rds.NewClient(&rds.Options{Addr: s.Addr})
	defer func() { _ = rdb.Close() }()
	testenv.Must(t, rdb.Do(within(t, 20*time.Second), "REPLICAOF", host, port).Err())
}

// auditSplit ends a game of --confirm redis with two masters. They may have given a packet twice. One of its players is
// paid, and the other one has a dead letter.
func (c *clusterCell) auditSplit(a *arena) {
	c.t.Helper()
	c.g.stop()
	testenv.Eventually(c.t, time.Minute, "each reported win is paid, or a dead letter", func() bool {
		open := 0
		for _, p := range c.g.players {
			for claim := range p.wins() {
				open += 1 - int(a.count(c.t, "SELECT COUNT(*) FROM (SELECT user_id FROM payout WHERE claim = ? AND "+
					"user_id = ? UNION SELECT user_id FROM dead_letter WHERE campaign_id = ? AND user_id = ? AND "+
					"packet = ?) x",
					claim, p.user, c.g.campaign, p.user, packetOf(c.t, claim)))
			}
		}
		return open == 0
	})
	dead := a.count(c.t, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at = 0")
	c.note("%d wins are dead letters", dead)
}

func packetOf(t *testing.T, claim string) int {
	t.Helper()
	_, packet, err := rain.ParseClaimID(claim)
	testenv.Must(t, err)
	return packet
}

// reportedIsPaid compares the players' messages with the ledger: each packet was reported to one player, who is paid.
func (c *clusterCell) reportedIsPaid(db *sql.DB) {
	c.t.Helper()
	reported := map[int]string{}
	for _, p := range c.g.players {
		for claim := range p.wins() {
			packet := packetOf(c.t, claim)
			if other, is := reported[packet]; is && other != p.user {
				c.t.Errorf("packet %d was reported to %s and to %s", packet, other, p.user)
			}
			reported[packet] = p.user
		}
	}
	for packet, user := range reported {
		var paid string
		err := db.QueryRowContext(within(c.t, 20*time.Second),
			"SELECT user_id FROM payout WHERE campaign_id = ? AND packet = ?", c.g.campaign, packet).Scan(&paid)
		if err != nil || paid != user {
			c.t.Errorf("packet %d was reported to %s, and paid to %q (%v)", packet, user, paid, err)
		}
	}
}

// playOtherRedis starts a node with another Redis on the same ledger. It does not play, and names both.
func playOtherRedis(c *clusterCell) {
	other := testenv.StartRedis(c.t)
	stranger := c.s
	stranger.redis = other.Addr
	c.refuses(stranger, "other-redis")
	rdb := rds.NewClient(&rds.Options{Addr: other.Addr})
	defer func() { _ = rdb.Close() }()
	keys := testenv.Got(rdb.DBSize(within(c.t, 20*time.Second)).Result()).Must(c.t)
	testenv.Equal(c.t, keys, int64(0), "keys of the other Redis")
}

// playOtherNamespace starts a node with another namespace on the same ledger.
func playOtherNamespace(c *clusterCell) {
	stranger := c.s
	stranger.namespace = testenv.Namespace(c.t)
	c.refuses(stranger, "other-namespace")
}

// refuses starts a node that must not play, in the middle of a rain.
func (c *clusterCell) refuses(s setting, name string) {
	c.t.Helper()
	c.begin(gameRules{name: name, shards: 1})
	c.g.goesOn(20)
	c.g.resting.Store(true)
	cfg := s.config()
	cfg.Confirm = c.confirm
	n := startNode(c.t, cfg)
	awaitAlarm(c.t, n, "other_redis", "")
	testenv.Eventually(c.t, 20*time.Second, "the node is not ready", func() bool {
		resp := testenv.Got(get(c.t, n.url+"/readyz")).Must(c.t)
		defer func() { _ = resp.Body.Close() }()
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	user := name + "-lost"
	p, err := enter(c.t, within(c.t, 10*time.Second), n, user, token(c.t, user), c.g.campaign)
	if err == nil {
		p.tapNext()
		p.untilAnswer(c.t, "unavailable")
	}
	c.g.goesOn(20)
	c.resume(false)
}
