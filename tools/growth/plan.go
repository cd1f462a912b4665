package main

import (
	"fmt"

	"redrain/rain"
)

const (
	leastRows = 10_000
	shards    = 4
	// liveMost is how many packets the campaign has at most that goes on; the others have stepPackets and are over.
	liveMost    = 1_000_000
	stepPackets = 100_000
	// batchWins is how many wins one transaction pays, and entryWins how many come in one outbox entry of those that
	// are posted.
	batchWins = 1_000
	entryWins = 50
	// leftOver is how many packets of each shard of a campaign that is over nobody has won.
	leftOver = 25

	sponsor = "acme"
	liveID  = "live"
)

// plan is what the ledger is filled with. It follows from the number of payouts alone.
type plan struct {
	posts   int // that are posted later, to the live campaign
	live    int // payouts of the live campaign
	steps   []int
	players [shards][]int32 // by their home shard
}

// newPlan makes a plan of so many payouts, and as many again of the live campaign as are posted later. campaigns are
// how many there are; 0: as many as stepPackets makes. One has all payouts, of several the live one has half.
func newPlan(rows, posts, campaigns int) *plan {
	p := &plan{posts: posts, live: min(liveMost, rows/2)}
	step := stepPackets
	switch {
	case campaigns == 1:
		p.live = rows
	case campaigns > 1:
		step = (rows - p.live + campaigns - 2) / (campaigns - 1)
	}
	for rest := rows - p.live; rest > 0; rest -= step {
		p.steps = append(p.steps, min(rest, step))
	}
	for n := range int32(max(rows/8, 2*(p.live+spare*posts))) { //nolint:gosec // at most some hundred millions
		home := rain.HomeShard(player(n), shards)
		p.players[home] = append(p.players[home], n)
	}
	return p
}

// spare is how many times -posts fit into what the live campaign has left: each run on the same data posts as many.
const spare = 20

func player(n int32) string { return fmt.Sprintf("player-%09d", n) }

// campaigns are the specs of all campaigns, the live one last.
func (p *plan) campaigns() []job {
	jobs := make([]job, 0, len(p.steps)+1)
	for i, payouts := range p.steps {
		jobs = append(jobs, p.job(i, fmt.Sprintf("over-%05d", i), payouts, leftOver))
	}
	return append(jobs, p.job(len(p.steps), liveID, p.live, spare*p.posts/shards))
}

// job is one campaign to fill.
type job struct {
	*plan
	number   int
	id       string
	packets  int
	leftOver int // packets of each shard that are not paid
}

// job makes each shard's part of the split the same size.
func (p *plan) job(number int, id string, payouts, leftOver int) job {
	packets := payouts/shards*shards + shards*leftOver
	return job{p, number, id, packets, leftOver}
}

func (j *job) spec() rain.Spec {
	return rain.Spec{Name: "Growth " + j.id, Sponsor: sponsor, Budget: rain.Money(j.packets) * 100, Packets: j.packets,
		Split: rain.DoubleMean, Min: 1, WinsPerUser: 1, Shards: shards, ExpiresInMS: rain.DefaultExpiryMS}
}

// paid is how many packets of a shard are paid.
func (j *job) paid() int { return j.packets/shards - j.leftOver }

// stride scatters the players over a shard's packets. It is prime, and longer than no list of players is a multiple of.
const stride = 1_000_003

// winner is who wins the n-th packet of a shard. Nobody wins two of a campaign.
func (j *job) winner(shard, n int) int32 {
	of := j.players[shard]
	at := (int64(n)*stride + int64(j.number)*7919) % int64(len(of))
	return of[at]
}
