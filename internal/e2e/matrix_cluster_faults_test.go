package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	rds "github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
)

// playCutOff kills a master, cuts the end of its append-only file off, and starts it again before its replica may take
// over. So the replica loses the same. Won packets lie in its stock.
func playCutOff(c *clusterCell) {
	c.begin(gameRules{name: "cut-off", shards: 1})
	master, replica := c.pair(c.g.campaign, 0)
	c.g.goesOn(40)
	file := fileOf(c.t, master)
	size := sizeOf(c.t, file)
	c.g.goesOn(40)
	reported := c.g.reported()
	c.pause()
	c.config(replica, "cluster-replica-no-failover", "yes")
	master.Kill()
	testenv.Must(c.t, os.Truncate(file, size))
	master.Start()
	c.follows(replica, master)
	c.config(replica, "cluster-replica-no-failover", "no")
	c.resume(true)
	c.note("%d wins reported before it", reported)
}

// playSlotMoved moves a shard's slot to the next master, key by key and at once. Every tap is answered.
func playSlotMoved(c *clusterCell) {
	c.begin(gameRules{name: "slot", shards: 2})
	m := newSlotMover(c.t, c.addrs())
	for turn := range 3 {
		m.move(c.s.key(c.g.campaign, 0, "state"), turn != 1)
		c.g.goesOn(40)
	}
	c.g.stop()
	unanswered, unavailable := 0, 0
	for _, p := range c.g.players {
		p.await(c.t, 30*time.Second, "result for each tap", func() bool { return len(p.results) == len(p.tapped) })
		p.mu.Lock()
		for id := range p.tapped {
			switch {
			case len(p.results[id]) != 1:
				unanswered++
			case p.results[id][0].Outcome == "unavailable":
				unavailable++
			}
		}
		p.mu.Unlock()
	}
	// With the other modes a tap waits for replicas and for NATS as well, which a busy machine keeps waiting.
	const handful = 10
	if unanswered > 0 || c.confirm == "redis" && unavailable > handful {
		c.t.Errorf("%d taps without one answer, %d unavailable", unanswered, unavailable)
	}
	c.resume(false)
	c.note("%d taps unavailable", unavailable)
}

// playDonorLost has Redis forget the shard that lends, in the middle of a move.
func playDonorLost(c *clusterCell) { c.loseInAMove("donor", 0) }

// playRecipientLost has Redis forget the shard that borrows, in the middle of a move.
func playRecipientLost(c *clusterCell) { c.loseInAMove("recipient", 1) }

// loseInAMove lets all players play on shard 1, so that shard 0 lends. It holds the moves between the loan and its row
// in the ledger. Redis forgets one of the two shards, on all its copies; then the moves go on. In the end every packet
// of both shards has been won, once.
func (c *clusterCell) loseInAMove(name string, lost int) {
	c.t.Helper()
	// Less than they may win; and so much that some is left when a busy machine has them rest late.
	const packets, players, limit = 900, 12, 90
	for try := 0; ; try++ { // until the shards lie on different masters
		name := fmt.Sprintf("%s-%d", name, try)
		c.prepare(gameRules{name: name, shards: 2, packets: packets, limit: limit,
			users: func() []string { return namesOn(2, 1, name, players) }})
		donor, _ := c.pair(c.g.campaign, 0)
		recipient, _ := c.pair(c.g.campaign, 1)
		if donor != recipient {
			break
		}
	}
	release := c.holdMoves()
	c.g.join(c.nodes)
	lending := 0
	testenv.Eventually(c.t, time.Minute, "stock is lent and has no row yet", func() bool {
		n, err := c.rdb.HLen(c.t.Context(), c.s.key(c.g.campaign, 0, "lent")).Result()
		lending = int(n) - 1 // one field is there so that the key is
		return err == nil && lending > 0
	})
	c.pause()
	master, _ := c.pair(c.g.campaign, lost)
	flush(c.t, master) // its replica follows
	release()
	c.resume(true)
	c.g.stop()
	for _, p := range c.g.players[len(c.g.players)-players:] {
		p.untilAnswer(c.t, "already", "sold_out")
	}
	c.g.awaitAllNotified(packets)
	c.note("moves in their middle: %d", lending)
}

// holdMoves stops every move of the campaign out of shard 0 between its first and its second step.
func (c *clusterCell) holdMoves() (release func()) {
	c.t.Helper()
	db := testenv.Got(sql.Open("mysql", c.s.mysql)).Must(c.t)
	ctx, cancel := context.WithCancel(context.Background())
	tx := testenv.Got(db.BeginTx(ctx, nil)).Must(c.t)
	release = func() {
		_ = tx.Rollback()
		cancel()
		_ = db.Close()
	}
	c.t.Cleanup(release)
	if _, err := tx.ExecContext(ctx, "INSERT INTO shard_epoch (campaign_id, shard, attempt) VALUES (?, 0, 0)",
		c.g.campaign); err != nil {
		c.t.Fatal(err)
	}
	return release
}

// playLagged cuts a replica off and lets players win. Then the master dies with all that the replica has not, and the
// replica takes over.
func playLagged(c *clusterCell) {
	c.begin(gameRules{name: "lagged", shards: 1})
	master, replica := c.pair(c.g.campaign, 0)
	c.g.goesOn(40)
	if c.confirm == "redis" {
		c.laggedUnconfirmed(master, replica)
		return
	}
	witness := c.witness(master)
	c.cutOff(master, replica)
	given := c.won(master, c.g)
	testenv.Eventually(c.t, time.Minute, "wins that no replica has",
		func() bool { return c.won(master, c.g) >= given+gamePlayers })
	witness.paysInTheMeantime(c.t)
	last, alone := c.newest(master, c.g), c.won(master, c.g)-given
	c.loses(master, last)
	c.takesOver(replica, last)
	master.Start()
	c.g.goesOn(1)
	c.resume(false)
	c.note("%d wins lost with the master, none of them reported or paid", alone)
}

// loses kills a master that knows an outbox entry.
func (c *clusterCell) loses(master *testenv.Server, entry string) {
	c.t.Helper()
	if !c.knows(master, c.g, entry) {
		c.t.Errorf("the master does not know its entry %s", entry)
	}
	master.Kill()
}

// takesOver has a replica take over that lagged, and looks whether it lacks an outbox entry.
func (c *clusterCell) takesOver(replica *testenv.Server, entry string) {
	c.t.Helper()
	replica.Thaw()
	c.awaitMaster(replica)
	if c.knows(replica, c.g, entry) {
		c.t.Error("the heir knows the newest win of all: nothing is lost, so nothing is tested")
	}
}

// laggedUnconfirmed is the promise of --confirm redis. Wins that the ledger or the stream has by then are kept. Of the
// wins that only the dead master knows, the deciding nodes publish some from their memory. The rest is lost, although
// it was reported. An alarm names the loss.
func (c *clusterCell) laggedUnconfirmed(master, replica *testenv.Server) {
	c.t.Helper()
	c.cutOff(master, replica)
	c.g.goesOn(40)
	c.g.stop()
	c.g.settled()
	kept := c.g.claims()
	c.nats.Freeze() // from now on no win leaves Redis and the nodes
	c.g.join(c.nodes)
	c.g.goesOn(20)
	c.g.stop()
	reported, last := c.g.claims(), c.newest(master, c.g)
	c.loses(master, last)
	c.takesOver(replica, last)
	c.nats.Thaw()
	master.Start()
	c.alarms.await(c.t, c.g.campaign, "redis_went_back", "state_lost")
	c.g.rebuilt()

	// A player of a lost win gets another answer now, and so does another player of its packet. The rest of the game is
	// for players whose wins are kept.
	for _, p := range c.g.players {
		p.hangUp()
	}
	c.g.players = nil
	c.resume(false)
	c.g.stop()
	awaitBooks(c.t, c.g.op, c.g.campaign)
	paid := claimsOf(c.t, c.g.op, c.g.campaign)
	lost := 0
	for claim, w := range reported {
		switch got, is := paid[claim]; {
		case is && got.User == w.user && got.Amount == w.amount:
		case kept[claim] == w:
			c.t.Errorf("%+v was reported to have %s when the ledger had it, and the ledger has %+v", w, claim, got)
		default:
			lost++
		}
	}
	c.note("%d wins in the ledger kept, of %d that only the dead master had %d lost, named by an alarm", len(kept),
		len(reported)-len(kept), lost)
}

// claims are all reported wins.
func (g *game) claims() map[string]toldWin {
	claims := map[string]toldWin{}
	for _, p := range g.players {
		for claim, w := range p.wins() {
			claims[claim] = toldWin{p.user, w.Amount}
		}
	}
	return claims
}

// cutOff separates a replica from its master. (A stopped replica would read the missing commands when it goes on.)
func (f *failover) cutOff(master, replica *testenv.Server) {
	f.t.Helper()
	replica.Freeze()
	rdb := rds.NewClient(&rds.Options{Addr: master.Addr})
	defer func() { _ = rdb.Close() }()
	testenv.Must(f.t, rdb.Do(f.t.Context(), "CLIENT", "KILL", "TYPE", "replica").Err())
}

// follows waits until a replica copies its master again, and does not hold it for dead.
func (f *failover) follows(replica, master *testenv.Server) {
	f.t.Helper()
	rdb := rds.NewClient(&rds.Options{Addr: replica.Addr})
	defer func() { _ = rdb.Close() }()
	testenv.Eventually(f.t, time.Minute, "the replica follows its master", func() bool {
		info, err1 := rdb.Info(f.t.Context(), "replication").Result()
		nodes, err2 := rdb.ClusterNodes(f.t.Context()).Result()
		return err1 == nil && err2 == nil && strings.Contains(info, "master_link_status:up") &&
			!slices.ContainsFunc(strings.Split(nodes, "\n"), func(node string) bool {
				return strings.Contains(node, master.Addr+"@") && strings.Contains(node, "fail")
			})
	})
}

// config sets an option of a server.
func (f *failover) config(s *testenv.Server, option, value string) {
	f.t.Helper()
	rdb := rds.NewClient(&rds.Options{Addr: s.Addr})
	defer func() { _ = rdb.Close() }()
	testenv.Must(f.t, rdb.ConfigSet(within(f.t, 20*time.Second), option, value).Err())
}
