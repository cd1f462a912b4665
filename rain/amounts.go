package rain

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// blocksKept is the number of blocks of a split that are held in memory, at 32 KB each. Each shard gives out packets
// in the order of their numbers. So one block for each of the most shards, and one for the settlement of each, is
// enough.
const blocksKept = 2 * MaxShards

// Amounts holds the amounts of one campaign's packets. An amount is a pure function of the campaign's settings and
// its secret seed, so amounts are never sent. It is safe for concurrent use.
type Amounts struct {
	split  SplitSpec
	seed   Seed
	blocks *lru.Cache[int, []Money]

	ranking sync.Once
	ranks   *Ranks
}

// NewAmounts returns the amounts of a campaign. It computes nothing yet. If the split is invalid, it returns an
// Invalid.
func NewAmounts(c *Campaign) (*Amounts, error) {
	split := c.SplitSpec()
	if err := split.Validate(); err != nil {
		return nil, err
	}
	kept, err := lru.New[int, []Money](blocksKept)
	return &Amounts{split: split, seed: c.SplitSeed, blocks: kept}, err
}

// Of returns the amount of a packet, or 0 if the campaign has no such packet.
func (a *Amounts) Of(packet int) Money {
	if packet < 0 || packet >= a.split.Packets {
		return 0
	}
	b := a.split.blockOf(packet)
	return a.block(b)[packet-a.split.blockStart(b)]
}

// Sum returns the amount of all packets in some ranges. Packets outside the campaign count 0.
func (a *Amounts) Sum(numbers Numbers) (sum Money) {
	for _, r := range numbers {
		first, end := max(r.First, 0), min(r.Last+1, a.split.Packets)
		if first < end {
			sum += a.upTo(end) - a.upTo(first)
		}
	}
	return sum
}

// upTo returns the amount of all packets before one.
func (a *Amounts) upTo(packet int) Money {
	if packet == a.split.Packets {
		return a.split.Budget
	}
	b := a.split.blockOf(packet)
	sum := a.split.before(b)
	for _, amount := range a.block(b)[:packet-a.split.blockStart(b)] {
		sum += amount
	}
	return sum
}

// block returns one block's amounts. Two goroutines that need the same block at the same time may both compute it.
func (a *Amounts) block(b int) []Money {
	if known, ok := a.blocks.Get(b); ok {
		return known
	}
	amounts := make([]Money, a.split.blockStart(b+1)-a.split.blockStart(b))
	a.split.fill(amounts, b, a.seed)
	a.blocks.Add(b, amounts)
	return amounts
}
