package campaigns

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/rain"
)

const (
	// demandMS is the life of a notice of demand, in milliseconds: the time for which taps wait.
	demandMS = 400
	// returnMS is the time for which a shard gets stock for taps that have waited in vain, in milliseconds: their
	// players tap again.
	returnMS = 5_000
	// aheadSeconds is the time for which a shard's stock should last; below half of it the shard gets more.
	aheadSeconds = 2.0
	// quiet is the rate, in wins per second, below which a shard counts as one without taps.
	quiet = 0.01
)

// unknown is the number of wins of a shard that could not be read yet.
const unknown = -1

// pace is the mover's record of a campaign.
type pace struct {
	asked    atomic.Int32    // looks since the running one began, with it; 0: none runs
	failed   loop.FailureLog // logs once that looks fail
	finishAt int64           // time of the next check for incomplete moves, Unix ms
	stuck    snags           // failures of completing moves
	at       int64           // of the last levels, Unix ms
	won      []int           // wins so far, by shard; unknown if not read
	rates    []float64       // wins per second, by shard
	refusals refusals        // refused moves
}

// note records the current levels of the shards.
func (p *pace) note(levels []store.Level, now int64) {
	if len(p.won) != len(levels) {
		p.won, p.rates = make([]int, len(levels)), make([]float64, len(levels))
		for i, l := range levels {
			if p.won[i] = l.Won; !l.Known {
				p.won[i] = unknown
			}
		}
		p.at = now
		return
	}
	seconds := float64(now-p.at) / 1000
	if seconds <= 0 {
		return
	}
	weight := min(1, 2*seconds) // of the newest rate: the last half second counts
	for i, l := range levels {
		if !l.Known {
			continue // keep the count: otherwise all its wins would count as new when the shard is back
		}
		if p.won[i] == unknown {
			p.won[i] = l.Won
		}
		p.rates[i] += weight * (float64(max(l.Won-p.won[i], 0))/seconds - p.rates[i])
		if p.rates[i] < quiet {
			p.rates[i] = 0
		}
		p.won[i] = l.Won
	}
	p.at = now
}

// soldOut reports whether every packet of a lane is won; false if a shard is unknown. Wins never decrease, so the
// shards need not be read at one moment.
func soldOut(levels []store.Level, packets int) bool {
	won := 0
	for _, l := range levels {
		if !l.Known {
			return false
		}
		won += l.Won
	}
	return won >= packets
}

// within returns the levels for a plan of one lane: the shards of other lanes count as unknown, so they neither lend
// nor borrow. It changes its argument.
func within(levels []store.Level, shards rain.Range) []store.Level {
	for shard := range levels {
		levels[shard].Known = levels[shard].Known && shard >= shards.First && shard <= shards.Last
	}
	return levels
}

// transfer is a planned move.
type transfer struct{ from, to, count int }

// need is the demand of a shard.
type need struct {
	waiting int // taps that wait on it
	missed  int // taps that have waited in vain
}

// plan returns the moves to make. rates are the shards' wins per second. A shard borrows if taps wait on it, if taps
// have waited in vain, or if its stock will soon be gone. The shards with most beyond their goals lend first. The goals
// do not depend on the current distribution, and a move never takes a shard past its goal. So a completed plan leaves
// nothing to move, and no stock oscillates.
//
// Those in barred lend nothing.
func plan(levels []store.Level, rates []float64, needs map[int]need, barred map[int]bool) (moves []transfer) {
	wanted := goals(levels, rates, needs)
	over := make([]int, len(levels)) // stock beyond the goal of each; below 0 if it lacks some
	var takers []int
	for i, l := range levels {
		if !l.Known {
			continue
		}
		over[i] = l.Left - wanted[i]
		if barred[i] {
			over[i] = min(over[i], 0)
		}
		low := needs[i] != need{} || float64(l.Left) < rates[i]*aheadSeconds/2
		if low && over[i] < 0 {
			takers = append(takers, i)
		}
	}
	slices.SortStableFunc(takers, func(a, b int) int { // waiting taps come first
		return cmp.Or(cmp.Compare(min(needs[b].waiting, 1), min(needs[a].waiting, 1)), cmp.Compare(over[a], over[b]))
	})
	for _, to := range takers {
		for over[to] < 0 {
			from := most(over)
			if from < 0 {
				return moves
			}
			count := min(over[from], -over[to])
			moves = append(moves, transfer{from, to, count})
			over[from] -= count
			over[to] += count
		}
	}
	return moves
}

// goals returns the packets that each shard should have: first for waiting taps, then for taps that have waited in
// vain, then for aheadSeconds. If the stock is not enough, it is shared in proportion to the demand.
func goals(levels []store.Level, rates []float64, needs map[int]need) []int {
	total := 0
	waiting, missed, ahead := make([]float64, len(levels)), make([]float64, len(levels)), make([]float64, len(levels))
	for i, l := range levels {
		if l.Known {
			total += l.Left
			waiting[i], missed[i] = float64(max(needs[i].waiting, 0)), float64(max(needs[i].missed, 0))
			ahead[i] = rates[i] * aheadSeconds
		}
	}
	goals := make([]int, len(levels))
	for _, asked := range [][]float64{waiting, missed, ahead} {
		for i, n := range share(total, asked) {
			goals[i] += n
		}
		total = 0
		for i, l := range levels {
			if l.Known {
				total += l.Left - goals[i]
			}
		}
	}
	return goals
}

// share gives each its request, rounded up, if there is enough for all. Otherwise it shares total in proportion:
// rounded down, and the remainder goes to those who lost most by rounding.
func share(total int, asked []float64) []int {
	given, sum := make([]int, len(asked)), 0.0
	for i, x := range asked {
		given[i] = int(math.Ceil(x))
		sum += math.Ceil(x)
	}
	if sum <= float64(total) {
		return given
	}
	rest := total
	order := make([]int, len(asked))
	for i, x := range asked {
		asked[i] = math.Ceil(x) * float64(total) / sum
		given[i] = int(asked[i])
		rest -= given[i]
		order[i] = i
	}
	lost := func(i int) float64 { return asked[i] - float64(given[i]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lost(b), lost(a)) })
	for _, i := range order[:min(max(rest, 0), len(order))] {
		given[i]++
	}
	return given
}

// most returns the shard with most beyond its goal; -1 if there is none.
func most(over []int) int {
	best := -1
	for i, n := range over {
		if n > 0 && (best < 0 || n > over[best]) {
			best = i
		}
	}
	return best
}
