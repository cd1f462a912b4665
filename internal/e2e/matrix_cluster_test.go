package e2e

import (
	"cmp"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// clusterFault is a fault of a part of a Redis Cluster, or of stock that moves in it, during a rain. It is a row of the
// second table of docs/understand/reliability.md.
type clusterFault struct {
	name string
	play func(c *clusterCell)
}

var clusterFaults = []clusterFault{
	{"an append-only file is cut off: a master comes back as it was seconds ago", playCutOff},
	{"a slot is moved, three times", playSlotMoved},
	{"the donor is lost while it lends", playDonorLost},
	{"the recipient is lost while it borrows", playRecipientLost},
	{lagged, playLagged},
	{"split brain: two masters take taps for five seconds", playSplitBrain},
	{"a node has another Redis", playOtherRedis},
	{"a node has another namespace", playOtherNamespace},
}

// lagged is the name of a row.
const lagged = "a replica takes over that lagged"

// clusterCell is one fault under one promise of --confirm.
type clusterCell struct {
	*failover

	t       *testing.T
	confirm string
	alarms  *heardAlarms
	g       *game
	full    []*player // have all the wins allowed before the fault strikes
	isTorn  bool      // two masters gave packets, and the mode accepts that
	seen    []string  // the evidence
}

// TestClusterFaultMatrix breaks the data or the work of Redis in the middle of a rain, with each mode of --confirm. In
// the end the ledger has every reported win that the mode promises to keep. No packet is paid twice, and no player has
// more wins than allowed, not even one who had all of them before. An alarm has named each loss.
//
// The modes promise different things. With "redis" and "replica" a shard that Redis has lost takes back each win that
// neither the ledger nor the stream has. There the players pause before the fault, until the ledger has their reported
// wins. docs/understand/reliability.md says so.
//
// It prints the table that stands in docs/understand/reliability.md.
func TestClusterFaultMatrix(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	modes := []string{"redis", "replica", "stream"}
	table := make([][]string, len(modes))
	t.Cleanup(func() {
		lines := []string{
			"| | `" + strings.Join(modes, "` | `") + "` |", "| --- |" + strings.Repeat(" --- |", len(modes)),
		}
		for row, f := range clusterFaults {
			line := "| " + f.name + " |"
			for column := range modes {
				line += " " + cellOf(table[column], row) + " |"
			}
			lines = append(lines, line)
		}
		t.Logf("what was survived:\n%s", strings.Join(lines, "\n"))
	})
	quarter := testenv.Random(t).IntN(quarters)
	for i, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			testenv.ParallelFailover(t, testenv.Medium)
			table[i] = playColumn(t, mode, func(row int) bool {
				isLag := mode == "replica" && clusterFaults[row].name == lagged // the fault that this mode exists for
				return isLag || isPlayed(quarter, row, i)
			})
		})
	}
}

func cellOf(column []string, row int) string {
	if row >= len(column) {
		return ""
	}
	return column[row]
}

// playColumn strikes all faults on one Cluster, one after the other, each in a campaign of its own.
func playColumn(t *testing.T, confirm string, isPlayed func(row int) bool) (column []string) {
	t.Helper()
	f := newFailover(t, confirm)
	heard := hear(t, f.nodes[1])
	for i, fault := range clusterFaults {
		if !isPlayed(i) {
			column = append(column, "")
			continue
		}
		cell := "✗"
		sound := t.Run(fault.name, func(t *testing.T) {
			here := *f
			here.t = t
			c := &clusterCell{failover: &here, t: t, confirm: confirm, alarms: heard}
			fault.play(c)
			c.seen = append(c.seen, c.audit())
			cell = "✓ " + strings.Join(c.seen, ", ")
		})
		column = append(column, cell)
		t.Logf("%s, %d: %s", confirm, i, cell)
		if !sound {
			break // a Cluster that does not recover would only keep the other tests waiting
		}
	}
	return column
}

func (c *clusterCell) note(format string, args ...any) {
	c.seen = append(c.seen, fmt.Sprintf(format, args...))
}

// begin begins a game, whose players tap from goesOn on. The test's work between two steps may take long, and no player
// may reach the limit meanwhile.
func (c *clusterCell) begin(r gameRules) {
	c.t.Helper()
	c.prepare(r)
	c.g.resting.Store(true)
	c.fill()
	c.g.join(c.nodes)
}

// prepare makes the cell's campaign.
func (c *clusterCell) prepare(r gameRules) {
	c.t.Helper()
	r.limit, r.drops = cmp.Or(r.limit, 100), 100
	c.g = newGame(c.t, c.nodes, r)
}

// fill lets two players of shard 0 win until they hear that they have all the wins allowed.
func (c *clusterCell) fill() {
	c.t.Helper()
	for i, user := range namesOn(c.g.shards, 0, c.g.name+"-full", 2) {
		p := join(c.t, c.nodes[i%2], user, c.g.campaign)
		c.full = append(c.full, p)
		c.g.players = append(c.g.players, p)
		p.untilAnswer(c.t, "already")
	}
}

// namesOn are names of players of a shard.
func namesOn(shards, shard int, name string, count int) (names []string) {
	for i := 0; len(names) < count; i++ {
		if user := fmt.Sprintf("%s-%d", name, i); rain.HomeShard(user, max(shards, 1)) == shard {
			names = append(names, user)
		}
	}
	return names
}

// pause stops the taps until the ledger has the reported wins, if the mode does not promise to keep the others.
func (c *clusterCell) pause() {
	c.t.Helper()
	if c.confirm == "stream" {
		return
	}
	c.g.stop()
	c.g.settled()
}

// resume waits until a lost shard is rebuilt: by itself if the mode says so, else by an operator. The players come
// back, each to the other node, which does not know them.
func (c *clusterCell) resume(rebuild bool) {
	c.t.Helper()
	if rebuild {
		c.alarms.await(c.t, c.g.campaign, "redis_went_back", "state_lost")
		if c.confirm == "stream" {
			c.g.goesOn(1) // no operator asks for it
			c.g.resting.Store(true)
		} else {
			c.g.rebuilt()
		}
	}
	c.g.stop()
	c.g.resting.Store(true)
	c.nodes[0], c.nodes[1] = c.nodes[1], c.nodes[0]
	c.g.join(c.nodes)
	c.g.goesOn(40)
	for i, was := range c.full {
		p := join(c.t, c.nodes[(i+1)%2], was.user, c.g.campaign)
		c.g.players = append(c.g.players, p)
		p.untilAnswer(c.t, "already")
		before := was.wins()
		for claim, w := range p.wins() { // a drop that was won is won again, the same
			if _, known := before[claim]; !known {
				c.t.Errorf("%s had all the wins allowed, and has won %+v", p.user, w)
			}
		}
	}
}

// audit ends the game, and counts in the books what may not be.
func (c *clusterCell) audit() string {
	c.t.Helper()
	db := testenv.Got(sql.Open("mysql", c.s.mysql)).Must(c.t)
	defer func() { _ = db.Close() }()
	a := &arena{t: c.t, db: db}
	if c.isTorn {
		c.auditSplit(a)
	} else {
		c.g.end()
		c.reportedIsPaid(db)
		a.checkSound(c.t)
	}
	over := a.count(c.t, "SELECT COUNT(*) FROM (SELECT user_id FROM payout WHERE campaign_id = ? GROUP BY user_id "+
		"HAVING COUNT(*) > ?) x", c.g.campaign, c.g.limit)
	doubled := a.count(c.t, "SELECT COUNT(*) FROM (SELECT packet FROM payout WHERE campaign_id = ? GROUP BY packet "+
		"HAVING COUNT(*) > 1) x", c.g.campaign)
	if over > 0 || doubled > 0 {
		c.t.Errorf("%d players are over the limit, %d packets are paid twice", over, doubled)
	}
	return fmt.Sprintf("%d wins reported", c.g.reported())
}
