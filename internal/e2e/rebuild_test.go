package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/config"
)

// tapper plays for a player until it is stopped. It taps one new drop after the other, except while resting is set, and
// repeats unavailable taps.
func (p *player) tapper(ctx context.Context, resting *atomic.Bool) {
	rhythm := time.NewTicker(20 * time.Millisecond)
	defer rhythm.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.done:
			return
		case <-rhythm.C:
		}
		if !resting.Load() {
			p.tapNext()
		}
		if drop := p.openQuestion(); drop != "" {
			p.tap(drop)
		}
	}
}

// openQuestion is a drop whose newest tap was answered with unavailable; "" without one.
func (p *player) openQuestion() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	newest := map[string]wire.ID{}
	for id, drop := range p.tapped {
		if n := newest[drop]; len(id) > len(n) || (len(id) == len(n) && id > n) { // they are numbers that rise
			newest[drop] = id
		}
	}
	for drop, id := range newest {
		for _, r := range p.results[id] {
			if r.Outcome == "unavailable" {
				return drop
			}
		}
	}
	return ""
}

// game is players who tap on several nodes, in one campaign.
type game struct {
	gameRules

	t        *testing.T
	nodes    []*node
	op       *client.Client
	campaign string
	players  []*player
	resting  atomic.Bool // the players tap no new drop until goesOn
	stop     func()
}

// gameRules are the differences between games. The zero value of a rule is play's.
type gameRules struct {
	name    string // of the campaign, its sponsor and its players
	shards  int
	packets int
	limit   int // wins allowed to a player
	drops   int // of its rain, in a second
	users   func() []string
	change  func(*rain.Spec) // of the campaign
}

const (
	gamePlayers = 8
	gamePackets = 5_000
)

// play makes a campaign with a long rain, and lets players of all nodes tap.
func play(t *testing.T, nodes []*node, shards int) *game {
	t.Helper()
	g := newGame(t, nodes, gameRules{shards: shards})
	g.join(nodes)
	return g
}

// newGame makes a campaign with a long rain, without players.
func newGame(t *testing.T, nodes []*node, r gameRules) *game {
	t.Helper()
	r.name = cmp.Or(r.name, "user")
	r.packets = cmp.Or(r.packets, gamePackets)
	r.limit = cmp.Or(r.limit, r.packets)
	r.drops = cmp.Or(r.drops, 40)
	if r.users == nil {
		r.users = func() []string { return numbered(r.name, gamePlayers) }
	}
	spec := fund(t, nodes[0], r.name, rain.Money(100*r.packets), r.packets)
	spec.WinsPerUser, spec.Shards = r.limit, r.shards
	if r.change != nil {
		r.change(&spec)
	}
	c := createCampaign(t, nodes[0].client, spec)
	startRain(t, nodes[0].client, c.ID, longRain(r.drops))
	return &game{gameRules: r, t: t, nodes: nodes, op: nodes[0].client, campaign: c.ID, stop: func() {}}
}

// numbered are names of players.
func numbered(name string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", name, i)
	}
	return names
}

// join lets new connections of the players come and tap.
func (g *game) join(nodes []*node) {
	g.t.Helper()
	g.nodes, g.op = nodes, nodes[0].client
	ctx, cancel := context.WithCancel(g.t.Context())
	var tapping sync.WaitGroup
	for i, user := range g.users() {
		p := join(g.t, nodes[i%len(nodes)], user, g.campaign)
		g.players = append(g.players, p)
		tapping.Go(func() { p.tapper(ctx, &g.resting) })
	}
	g.stop = sync.OnceFunc(func() { cancel(); tapping.Wait() })
	g.t.Cleanup(g.stop)
}

// reported is the number of reported wins. A player who comes back gets the same ones again.
func (g *game) reported() int { return len(g.claims()) }

// goesOn waits until so many more wins have been reported.
func (g *game) goesOn(more int) {
	g.t.Helper()
	before := g.reported()
	g.resting.Store(false)
	testenv.Eventually(g.t, time.Minute, fmt.Sprintf("%d more wins", more),
		func() bool { return g.reported() >= before+more })
}

// rebuilt waits until the lost shard is rebuilt: the nodes do it by themselves, and an operator may be quicker.
func (g *game) rebuilt() {
	g.t.Helper()
	testenv.Eventually(g.t, time.Minute, "a rebuild", func() bool {
		ctx, cancel := context.WithTimeout(g.t.Context(), 30*time.Second)
		defer cancel()
		done, err := g.op.Rebuild(ctx, g.campaign)
		if err == nil {
			g.t.Logf("rebuilt by the operator: %+v", done)
		} else if ctx.Err() == nil && !client.HasStatus(err, 503) && !hasCode(err, "rebuild_superseded") &&
			!hasCode(err, "campaign_alive") {
			g.t.Fatal(err)
		}
		return err == nil || hasCode(err, "campaign_alive")
	})
}

// end stops the taps and closes the campaign. Then every reported win is in the ledger once, nothing was given twice,
// and every cent is accounted for.
func (g *game) end() {
	g.t.Helper()
	g.stop()
	g.noneTwice()
	g.sameAgain()
	awaitBooks(g.t, g.op, g.campaign)
	checkLedger(g.t, g.op, g.campaign, g.players)
	testenv.Must(g.t, testenv.Err(g.op.CloseCampaign(within(g.t, 20*time.Second), g.campaign)))
	testenv.Eventually(g.t, time.Minute, "the rest back at the sponsor", func() bool {
		ctx, cancel := context.WithTimeout(g.t.Context(), 5*time.Second)
		defer cancel()
		r, err := g.op.Reconciliation(ctx, g.campaign)
		return err == nil && r.Balanced && r.Paid+r.Reclaimed == r.Funded && r.Dead == 0
	})
}

// noneTwice: no packet was reported to two players, and no player heard two amounts.
func (g *game) noneTwice() {
	g.t.Helper()
	type holder struct {
		user   string
		amount rain.Money
	}
	packets := map[string]holder{}
	for _, p := range g.players {
		for _, w := range p.wins() {
			h := holder{p.user, w.Amount}
			if before, taken := packets[w.Packet]; taken && before != h {
				g.t.Errorf("packet %s was reported to %+v and to %+v", w.Packet, before, h)
			}
			packets[w.Packet] = h
		}
	}
}

// sameAgain: every player's welcome on a new connection has all their reported wins, and a tap that won wins the same.
func (g *game) sameAgain() {
	g.t.Helper()
	reported := map[string]map[string]wire.Result{}
	for _, p := range g.players {
		if reported[p.user] == nil {
			reported[p.user] = map[string]wire.Result{}
		}
		maps.Copy(reported[p.user], p.wins())
	}
	for _, user := range slices.Sorted(maps.Keys(reported)) {
		p := join(g.t, g.nodes[0], user, g.campaign)
		if p.welcome.ClaimsTotal < len(reported[user]) {
			g.t.Errorf("%s received %d wins, and is welcomed with %d", user, len(reported[user]), p.welcome.ClaimsTotal)
		}
		for _, win := range reported[user] { // any of them
			again := p.answered(g.t, p.tap(win.Drop))
			if again.Outcome != "late" && (again.Outcome != "won" || again.Claim != win.Claim ||
				again.Amount != win.Amount) {
				g.t.Errorf("%s won %+v, and hears now %+v", user, win, again)
			}
			break
		}
	}
}

// streamConfig is a node that reports wins which JetStream has.
func streamConfig(s setting) config.Config {
	c := s.config()
	c.Confirm = "stream"
	return c
}

// TestRedisLosesEverything in the middle of a rain, twice: it is flushed, and then killed and started without its file.
// The campaign is rebuilt, the rain goes on, and no player loses a win that was reported.
func TestRedisLosesEverything(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	redis := testenv.StartRedis(t)
	s := setting{redis: redis.Addr, nats: testenv.NATS(t), mysql: testenv.MySQL(t), namespace: testenv.Namespace(t)}
	g := play(t, startNodes(t, streamConfig(s), 2), 2)
	if _, err := g.op.Rebuild(within(t, 20*time.Second), g.campaign); !hasCode(err, "campaign_alive") {
		t.Errorf("a rebuild of what is not lost: %v", err)
	}
	g.goesOn(100)
	flush(t, redis)
	g.rebuilt()
	g.goesOn(100)
	redis.LoseData()
	redis.Start()
	g.rebuilt()
	g.goesOn(100)
	g.end()
}

func flush(t *testing.T, redis *testenv.Server) {
	t.Helper()
	rdb := rds.NewClient(&rds.Options{Addr: redis.Addr})
	defer func() { _ = rdb.Close() }()
	testenv.Must(t, rdb.FlushAll(t.Context()).Err())
}

// TestKillNineInARebuild: the node that rebuilds dies, and another one begins anew.
func TestKillNineInARebuild(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for _, point := range []string{"rebuild.after_fence", "rebuild.after_restore"} {
		t.Run(point, func(t *testing.T) {
			testenv.ParallelFailover(t, testenv.Medium)
			redis := testenv.StartRedis(t)
			s := setting{redis: redis.Addr, nats: testenv.NATS(t), mysql: testenv.MySQL(t),
				namespace: testenv.Namespace(t)}
			doomed := startProcess(t, s, "REDRAIN_CONFIRM=stream", "REDRAIN_FAULT_AT="+point)
			g := play(t, []*node{doomed.node}, 2)
			g.goesOn(50)
			flush(t, redis)
			doomed.awaitDeath(t, 30*time.Second) // no operator asks it to rebuild
			g.stop()
			g.join([]*node{startNode(t, streamConfig(s))})
			g.goesOn(50) // where the campaign was not applied any more, the keeper does it
			g.end()
		})
	}
}

// TestKillNineWithADataDirectory: all in one process, which is killed and started again on its directory, with
// nothing else to do.
func TestKillNineWithADataDirectory(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	dir := t.TempDir()
	start := func() *process {
		return startProcessWith(t, processOptions{flags: []string{"--data-dir", dir, "--no-demo"}})
	}
	p := start()
	g := play(t, []*node{p.node}, 1)
	for range 2 {
		g.goesOn(50)
		p.Kill()
		g.stop()
		p = start()
		g.join([]*node{p.node})
	}
	g.goesOn(50)
	g.end()
}

// TestCreationWithoutRedis: a campaign that cannot be stocked is refused, and its money is back at the sponsor.
func TestCreationWithoutRedis(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	redis := testenv.StartRedis(t)
	s := setting{redis: redis.Addr, nats: testenv.NATS(t), mysql: testenv.MySQL(t), namespace: testenv.Namespace(t)}
	n := startNode(t, s.config())
	spec := fund(t, n, "unstocked", 1_000, 10)
	redis.Kill()
	if _, err := n.client.CreateCampaign(within(t, time.Minute), spec, ""); !hasCode(err, "unavailable") {
		t.Errorf("without Redis: %v", err)
	}
	testenv.Equal(t, depositOf(t, n, spec.Sponsor), spec.Budget, "the sponsor has")
	redis.Start()
	testenv.Eventually(t, 30*time.Second, "creation after the outage", func() bool {
		c, err := n.client.CreateCampaign(within(t, time.Minute), spec, "second try")
		return err == nil && c.State == "ready"
	})
}
