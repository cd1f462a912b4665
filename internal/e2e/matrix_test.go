package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"

	"redrain/client"
)

// fault is something that breaks: a row of the matrix.
type fault struct {
	name   string
	strike func(a *arena)
	heal   func(a *arena)
	wins   bool // whether packets can be won while it lasts

	// points are where node 0 kills itself, by stage; a stage without one is struck by strike. Only a node has them.
	points map[string]string
}

var faults = []*fault{
	redisFault, natsFault, mysqlFault, providerFault, nodeFault,
}

var redisFault = &fault{
	name:   "Redis: kill -9, restart from its append-only file",
	strike: func(a *arena) { a.redis.Kill() },
	heal:   func(a *arena) { a.redis.Start() },
}

var natsFault = &fault{
	name:   "NATS: kill -9, its store is lost",
	strike: func(a *arena) { a.nats.LoseData() },
	heal:   func(a *arena) { a.nats.Start() },
	wins:   true,
}

var mysqlFault = &fault{
	name:   "MariaDB: kill -9, restart on its data",
	strike: func(a *arena) { a.mysql.Kill() },
	heal:   func(a *arena) { a.mysql.Start() },
	wins:   true,
}

var providerFault = &fault{
	name:   "the payment provider: slow, failing, or silent after it has paid",
	strike: func(a *arena) { a.bank.sick.Store(true) },
	heal:   func(a *arena) { a.bank.sick.Store(false) },
	wins:   true,
}

var nodeFault = &fault{
	name:   "a node of two: kill -9",
	strike: func(a *arena) { a.node(0).Kill() },
	heal:   func(a *arena) { a.startNode(0, "") },
	wins:   true,
	points: map[string]string{
		"grab": "grab.after_script:40", "publish": "deciders.before_publish:20", "settle": "settle.after_commit:5",
		"withdraw": "withdraw.after_pay:20",
	},
}

// stage is the work of the system at the moment of a fault: a column of the matrix.
type stage struct {
	name string
	// play brings a cell's system into the stage, strikes, heals, and sees it go on.
	play func(c *cell)
}

var stages = []stage{
	{"grab", playGrab}, {"publish", playPublish}, {"settle", playSettle}, {"reclaim", playReclaim},
	{"withdraw", playWithdraw},
}

// cell is one fault in one stage.
type cell struct {
	*arena

	t         *testing.T
	fault     *fault
	stage     string
	campaigns []played
	checks    []func(t *testing.T) // once all is quiet
	seen      []string             // the evidence that the fault has struck in the stage, and that the stage went on
}

// played is a campaign of a cell and who played in it.
type played struct {
	client.Campaign

	crowd *crowd
}

// note adds to the cell's evidence.
func (c *cell) note(format string, args ...any) {
	c.seen = append(c.seen, fmt.Sprintf(format, args...))
}

// TestFaultMatrix breaks each part of a running system in the middle of each step of the money's way, and repairs it.
// In the end every reported win is paid once. The decisions of Redis and the payouts of the ledger are the same,
// nothing is doubled, and the difference is 0. All parts are processes of their own, and all faults are real.
//
// Each cell proves that the fault came at the stage of its column. It waits until there is unfinished work of that
// stage. Work that ends too soon is held: by stopping the server behind it, by a lock, or by a fault point in the node.
// After the repair the cell waits until the stage has worked on.
//
// It prints the table that stands in docs/understand/reliability.md.
func TestFaultMatrix(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	table := make([]string, len(faults))
	t.Cleanup(func() {
		head, rule := "| struck in the middle of |", "| --- |"
		for _, s := range stages {
			head, rule = head+" "+s.name+" |", rule+" --- |"
		}
		t.Logf("what was survived:\n%s\n%s\n%s", head, rule, strings.Join(table, "\n"))
	})
	quarter := testenv.Random(t).IntN(quarters)
	played := func(row int) func(column int) bool {
		return func(column int) bool {
			return stages[column].name == "withdraw" || isPlayed(quarter, row, column) // money leaves for good
		}
	}
	for i, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			testenv.ParallelFailover(t, testenv.Medium)
			table[i] = playRow(t, played(i), f)
		})
	}
}

// quarters is the divisor of a matrix: a run plays every fourth diagonal, and all of them with -nightly.
const quarters = 4

// isPlayed reports whether this run plays a cell of a matrix. Each run draws its quarter.
func isPlayed(quarter, row, column int) bool {
	return (row+column)%quarters == quarter || testenv.Covers(testenv.Nightly)
}

// playRow strikes a fault in every stage of one system, and then compares all reports to the players with the books. It
// returns a row of the table.
func playRow(t *testing.T, isPlayed func(stage int) bool, f *fault) string {
	t.Helper()
	a := newArena(t)
	cells := make([]*cell, len(stages))
	for i, s := range slices.Backward(stages) { // withdrawals first: they take the longest to come to rest
		if !isPlayed(i) {
			continue
		}
		if !t.Run(s.name, func(t *testing.T) { cells[i] = playCell(t, a, f, s) }) {
			return "| " + f.name + " | failed |"
		}
	}
	line := "| " + f.name + " |"
	for _, c := range cells {
		if c == nil { // not played, or left out by -run
			line += " |"
			continue
		}
		verdict := "✓"
		if !t.Run("the books after "+c.stage, c.check) {
			verdict = "✗"
		}
		line += " " + verdict + " " + strings.Join(c.seen, ", ") + " |"
	}
	a.checkSound(t)
	for i := range a.nodes {
		a.drainNode(i)
	}
	return line
}

func playCell(t *testing.T, a *arena, f *fault, s stage) *cell {
	t.Helper()
	c := &cell{arena: a, t: t, fault: f, stage: s.name}
	if point := f.points[s.name]; point != "" {
		a.drainNode(0)
		a.startNode(0, point)
	}
	s.play(c)
	for _, p := range c.campaigns {
		p.crowd.disperse()
	}
	for _, s := range a.savers {
		s.stop()
	}
	return c
}

// check looks at all campaigns of the cell when they have come to rest.
func (c *cell) check(t *testing.T) {
	for _, p := range c.campaigns {
		c.checkCampaign(t, p.Campaign, p.crowd.wins(t))
	}
	for _, check := range c.checks {
		check(t)
	}
}
