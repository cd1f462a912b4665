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
	// aheadSeconds is for how long a shard's stock should be enough; below half of it the shard gets more.
	aheadSeconds = 2.0
)

// pace is what the mover has seen of a campaign.
type pace struct {
	finishedAt int64     // when it was last looked for moves to end, Unix ms
	broken     bool      // the last round has left a move in the middle
	at         int64     // of the last levels, Unix ms
	won        []int     // so far, by shard
	rates      []float64 // wins per second, by shard
}

// note takes in what the shards have now.
func (p *pace) note(levels []store.Level, now int64) {
	if len(p.won) != len(levels) {
		p.won, p.rates = make([]int, len(levels)), make([]float64, len(levels))
		for i, l := range levels {
			p.won[i] = l.Won
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
		p.rates[i] += weight * (float64(max(l.Won-p.won[i], 0))/seconds - p.rates[i])
		p.won[i] = l.Won
	}
	p.at = now
}

// soldOut tells whether every packet is won. What is won never becomes less, so the shards need not be read at one
// moment.
func soldOut(c *rain.Campaign, levels []store.Level) bool {
	won := 0
	for _, l := range levels {
		if !l.Known {
			return false
		}
		won += l.Won
	}
	return won >= c.Packets
}

// transfer is a move that should be made.
type transfer struct{ from, to, count int }

// plan says which moves to make. rates is how many packets each shard gives away in a second, dry how many taps wait
// where. A shard asks when taps wait there, or when its stock will soon be gone; it gets what will last for a while, and
// no more than its share of all that is left by what is asked of it. Those that have most beyond what they need give
// first.
func plan(levels []store.Level, rates []float64, dry map[int]int) (moves []transfer) {
	demand, total, asked := make([]float64, len(levels)), 0, 0.0
	for i, l := range levels {
		if l.Known {
			demand[i] = rates[i] + float64(dry[i])
			total += l.Left
			asked += demand[i]
		}
	}
	if asked == 0 || total == 0 {
		return nil
	}
	spare := make([]int, len(levels))
	var donors, takers []int
	for i, l := range levels {
		share := float64(total) * demand[i] / asked
		need := int(math.Ceil(min(share, max(demand[i]*aheadSeconds, float64(dry[i])))))
		low := dry[i] > 0 || float64(l.Left) < rates[i]*aheadSeconds/2
		switch keeps := int(min(share, demand[i]*aheadSeconds)); {
		case !l.Known:
		case low && l.Left < need:
			takers = append(takers, i)
			spare[i] = l.Left - need // what it lacks
		case l.Left > keeps: // rounded down: where hardly anybody taps, the last packet goes to who waits
			donors = append(donors, i)
			spare[i] = l.Left - keeps
		}
	}
	slices.SortStableFunc(takers, func(a, b int) int { return cmp.Compare(spare[a], spare[b]) })
	for _, to := range takers {
		for spare[to] < 0 {
			from := most(donors, spare)
			if from < 0 {
				return moves
			}
			count := min(spare[from], -spare[to])
			moves = append(moves, transfer{from, to, count})
			spare[from] -= count
			spare[to] += count
		}
	}
	return moves
}

// most is the donor that has most to spare; -1 where none has any.
func most(donors, spare []int) int {
	best := -1
	for _, i := range donors {
		if spare[i] > 0 && (best < 0 || spare[i] > spare[best]) {
			best = i
		}
	}
	return best
}
