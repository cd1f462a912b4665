//go:build linux

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/bench"
)

// rows are in the order of the table.
var rows = []row{
	{"taps", "taps a second and processor time of a tap, 1,000 players as fast as they can", measureTaps},
	{"latency", "from tap to result at 90 % of the baseline's most", measureLatency},
	{"settled", "everything on: processor time of a win and the time until all are in the ledger", measureSettled},
	{"notices", "settlement: 100,000 wins of 500 and of 50,000 players, until each has its notice", measureNotices},
	{"idle", "memory and goroutines of a connection that does nothing, 5,000 and 15,000 of them", measureIdle},
	{"fanout", "processor time of a delivered wave, 1,000 and 15,000 members", measureFanout},
	{"soldout", "Redis calls for a tap after the last packet", measureSoldOut},
	{"inproc", "taps a second of `go run .`, without any back end", measureInProcess},
}

// run is the common part of the rows.
type run struct {
	*scope

	rounds int
	back   *backends
	row    string
	table  *[]line
	most   *float64 // the baseline's taps/s, once they have been measured; 0: not yet
}

// within returns the run for a row. The servers of the row end with its scope.
func (r *run) within(s *scope, row string) *run {
	if r.table == nil {
		r.table, r.most = new([]line), new(float64)
	}
	return &run{scope: s, rounds: r.rounds, back: r.back, row: row, table: r.table, most: r.most}
}

func (r *run) lines() []line {
	if r.table == nil {
		return nil
	}
	return *r.table
}

// long is the number of rounds of a row that takes long.
func (r *run) long() int { return min(r.rounds, 2) }

// add puts lines into the table.
func (r *run) add(lines ...line) {
	for _, l := range lines {
		l.Row = r.row
		*r.table = append(*r.table, l)
	}
}

// wait lets time pass.
func (r *run) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.ctx.Done():
	}
	r.check("wait", nil)
}

// gather lets players join a campaign. They leave with leave, at the latest when the row ends.
func (r *run) gather(c *contestant, campaign string, players int) (crowd *bench.Crowd, leave func()) {
	return r.gatherAs(c, campaign, players, nameOf)
}

// gatherAs is gather of players with other names.
func (r *run) gatherAs(c *contestant, campaign string, players int, name func(player int) string) (crowd *bench.Crowd,
	leave func()) {
	crowd, err := bench.Gather(r.ctx, bench.Options{
		Targets: []string{c.socket()}, Campaigns: []string{campaign}, Players: players,
		Token:      func(_ context.Context, player int) (string, error) { return token(name(player)) },
		JoinWithin: 2 * time.Minute,
	})
	r.check("let players join "+c.name, err)
	leave = sync.OnceFunc(crowd.Leave)
	r.Cleanup(leave)
	if joined := crowd.Progress().Connected; joined < players {
		report, _ := r.play(crowd, bench.Plan{Duration: time.Millisecond, Watch: true})
		r.Fatalf("%d of %d players could join %s: failed %v, closed %v, errors %v", joined, players, c.name,
			report.NotJoined, report.Closes, report.Errors)
	}
	return crowd, leave
}

// play lets the players tap, and returns the usage of the processes meanwhile.
func (r *run) play(crowd *bench.Crowd, plan bench.Plan, processes ...process) (*bench.Report, usage) {
	before, err := read(processes)
	r.check("before", err)
	report := crowd.Play(r.ctx, plan)
	after, err := read(processes)
	r.check("after", err)
	if n := report.Lost + report.Unanswered + report.Broken; n > 0 || len(report.Faults) > 0 {
		r.Fatalf("the players met faults: %d taps lost, %d not answered, %d connections broken, faults %v",
			report.Lost, report.Unanswered, report.Broken, report.Faults)
	}
	return report, after.since(before)
}

// won fails unless at least 99 % of the taps have won: another outcome costs less, and no row measures it.
func (r *run) won(c *contestant, report *bench.Report) {
	if won := report.Outcomes["won"]; report.Answered == 0 || won < report.Answered*99/100 {
		r.Fatalf("%s: %d of %d taps have won: %v; errors %v, %d times nothing was in the air", c.name, won,
			report.Answered, report.Outcomes, report.Errors, report.Starvations+report.NothingInAir)
	}
	if report.Starvations > report.Answered/1000 {
		r.Logf("%s: players had nothing to tap %d times, for %v together", c.name, report.Starvations, report.Starved)
	}
}

// nameOf is a player's name.
func nameOf(player int) string { return "player-" + strconv.Itoa(player) }

// token signs the token of a player.
func token(name string) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": name, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(jwtSecret))
}

// thousands writes a count with a comma between the thousands, and millions as M.
func thousands(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n >= 1000:
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	default:
		return strconv.Itoa(n)
	}
}
