package campaigns

import (
	"cmp"
	"math"
	"slices"

	"redrain/grab/store"
	"redrain/rain"
)

const (
	// thirstMS is how long it counts that taps wait on a shard, in milliseconds: as long as they do.
	thirstMS = 400
	// returnMS is how long stock is kept, or brought, for taps that have waited and got nothing, in milliseconds: their
	// players tap again.
	returnMS = 5_000
	// aheadSeconds is for how long a shard's stock should be enough; below half of it the shard gets more.
	aheadSeconds = 2.0
	// quiet is the rate, in wins per second, below which a shard counts as one where nobody taps.
	quiet = 0.01
)

// unknown is the number of wins of a shard that could not be read yet.
const unknown = -1

// pace is what the mover has seen of a campaign.
type pace struct {
	turn     turn
	finishAt int64     // when it is looked for moves to end again, Unix ms
	stuck    snags     // what keeps moves from being ended
	at       int64     // of the last levels, Unix ms
	won      []int     // so far, by shard; unknown where that could not be read
	rates    []float64 // wins per second, by shard
	refusals refusals  // moves that cannot be
}

// note takes in what the shards have now.
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
	weight := min(1, 2*seconds) // of the newest: the last half second counts
	for i, l := range levels {
		if !l.Known {
			continue // what is won there is not forgotten: it would all count as won now when the shard is back
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

// soldOut tells whether every packet of a lane is won, by what its shards have: never where one is unknown. What is won
// never becomes less, so the shards need not be read at one moment.
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

// within is the levels for a plan of one lane: the shards of another count as ones of which nothing is known, so they
// neither give nor get. It changes the levels that it is given.
func within(levels []store.Level, shards rain.Range) []store.Level {
	for shard := range levels {
		levels[shard].Known = levels[shard].Known && shard >= shards.First && shard <= shards.Last
	}
	return levels
}

// transfer is a move that should be made.
type transfer struct{ from, to, count int }

// need is what a shard lacks.
type need struct {
	waiting int // taps that wait there
	missed  int // taps that have waited there, and got nothing
}

// plan says which moves to make. rates is how many packets each shard gives away in a second. A shard gets some when
// taps wait there, when taps have waited there in vain, or when its stock will soon be gone; those that have most
// beyond their goals give first. The goals do not depend on where the stock lies, and a move never takes a shard past
// its own: so a plan that is carried out leaves nothing to be moved, and nothing goes to and fro.
//
// Those in barred lend nothing.
func plan(levels []store.Level, rates []float64, needs map[int]need, barred map[int]bool) (moves []transfer) {
	wanted := goals(levels, rates, needs)
	over := make([]int, len(levels)) // what each has beyond its goal; below 0 what it lacks
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
	slices.SortStableFunc(takers, func(a, b int) int { // who waits comes first, as long as they wait
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

// goals are how many packets each shard should have: those that taps wait for first, then those that taps have waited
// for in vain, and of the rest what will last for a while. They are no more than there is: what is not enough is shared
// by what is asked for.
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

// share gives to each what it asks for, rounded up, where there is enough for all, and otherwise its part of what
// there is: rounded down, and what that leaves to those who lost most by it.
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

// most is the shard that has most beyond its goal; -1 where none has anything.
func most(over []int) int {
	best := -1
	for i, n := range over {
		if n > 0 && (best < 0 || n > over[best]) {
			best = i
		}
	}
	return best
}
