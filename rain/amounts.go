package rain

import (
	"math"
	"slices"
	"sort"
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

// campaignsKept is the number of campaigns whose amounts a cache holds.
const campaignsKept = 256

// AmountsCache holds the amounts of campaigns that are in use. It is safe for concurrent use.
type AmountsCache struct {
	kept *lru.Cache[amountsKey, *Amounts]
}

// amountsKey holds every input of the amounts. So a tampered campaign row and the restored one have different
// entries.
type amountsKey struct {
	id       string
	seed     Seed
	budget   Money
	packets  int
	split    SplitKind
	min, max Money  // max is -1 if there is none
	given    *Money // address of the first given amount: each read of the row makes another list
}

// NewAmountsCache returns an empty cache.
func NewAmountsCache() *AmountsCache {
	kept, err := lru.New[amountsKey, *Amounts](campaignsKept)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &AmountsCache{kept}
}

// Of returns the amounts of a campaign. If the split is invalid, it returns an Invalid.
func (c *AmountsCache) Of(of *Campaign) (*Amounts, error) {
	key := amountsKey{of.ID, of.SplitSeed, of.Budget, of.Packets, of.Split, of.Min, -1, nil}
	if of.Max != nil {
		key.max = *of.Max
	}
	if len(of.Amounts) > 0 {
		key.given = &of.Amounts[0]
	}
	if known, ok := c.kept.Get(key); ok {
		return known, nil
	}
	made, err := NewAmounts(of)
	if err == nil {
		c.kept.Add(key, made)
	}
	return made, err
}

const (
	// rankedBlocks is the number of blocks that are sampled to rank a split's amounts: some 260,000 packets, and some
	// twenty milliseconds.
	rankedBlocks = 64
	// rankMargin is the number of percent by which the ranks of a larger split are lowered. All its blocks are cut in
	// the same way, so 64 of them represent the others. By the Dvoretzky–Kiefer–Wolfowitz inequality, 260,000 samples
	// are wrong by one percent less than once in 10^12 campaigns. So a rank is never too high, and sometimes too low.
	rankMargin = 1
)

// Ranks ranks an amount among all packets of one campaign, won or not.
type Ranks struct {
	least  [99]Money // least[p-1]: an amount above it is larger than p percent of the packets
	margin int
}

// Ranks computes the ranks of a campaign on the first call and keeps them. It returns nil if there are no packets.
func (a *Amounts) Ranks() *Ranks {
	a.ranking.Do(func() { a.ranks = a.rank() })
	return a.ranks
}

func (a *Amounts) rank() *Ranks {
	r := &Ranks{}
	blocks := a.split.blocks()
	sampled := min(blocks, rankedBlocks)
	if sampled < blocks {
		r.margin = rankMargin
	}
	var amounts []Money
	for i := range sampled {
		b := i * blocks / sampled // evenly over the whole split
		from := len(amounts)
		amounts = append(amounts, make([]Money, a.split.blockStart(b+1)-a.split.blockStart(b))...)
		a.split.fill(amounts[from:], b, a.seed)
	}
	if len(amounts) == 0 {
		return nil
	}
	slices.Sort(amounts)
	for p := range r.least {
		r.least[p] = amounts[((p+1)*len(amounts)+99)/100-1]
	}
	return r
}

// Luck returns the percentage of the campaign's packets that hold less than an amount, rounded down; 0 if r is nil.
func (r *Ranks) Luck(amount Money) int {
	if r == nil {
		return 0
	}
	above := sort.Search(len(r.least), func(p int) bool { return r.least[p] >= amount })
	return max(0, above-r.margin)
}

// maxBins is the largest number of bins in a histogram.
const maxBins = 20

// SplitSummary describes a split to an operator before money is bound to it. Amounts are in minor units.
type SplitSummary struct {
	Packets   int        `json:"packets"`
	Mean      float64    `json:"mean"`      // to two decimals of a minor unit
	Deviation float64    `json:"deviation"` // standard deviation, to two decimals as well
	Smallest  Money      `json:"smallest"`
	Median    Money      `json:"median"` // half of the packets hold this or less
	Largest   Money      `json:"largest"`
	Histogram []SplitBin `json:"histogram"`
}

// SplitBin counts the packets that hold From to To, both included. All bins are equally wide, so the last one may
// reach beyond the largest packet.
type SplitBin struct {
	From    Money `json:"from"`
	To      Money `json:"to"`
	Packets int   `json:"packets"`
}

// Describe summarizes the amounts of a split. There must be at least one, and their sum must fit into Money. It sorts
// them in place to save the memory of a copy.
func Describe(amounts []Money) SplitSummary {
	slices.Sort(amounts)
	n := len(amounts)
	var sum Money
	for _, a := range amounts {
		sum += a
	}
	mean, squares := float64(sum)/float64(n), 0.0
	for _, a := range amounts {
		squares += (float64(a) - mean) * (float64(a) - mean)
	}
	return SplitSummary{
		Packets: n, Mean: twoDecimals(mean), Deviation: twoDecimals(math.Sqrt(squares / float64(n))),
		Smallest: amounts[0], Median: amounts[(n-1)/2], Largest: amounts[n-1], Histogram: histogram(amounts),
	}
}

func twoDecimals(x float64) float64 { return math.Round(x*100) / 100 }

// histogram counts the amounts, which must be sorted, in at most maxBins bins.
func histogram(sorted []Money) []SplitBin {
	first, last := sorted[0], sorted[len(sorted)-1]
	width := (last-first)/maxBins + 1
	bins := make([]SplitBin, 0, maxBins)
	for counted := 0; counted < len(sorted); first += width {
		upTo, _ := slices.BinarySearch(sorted, first+width)
		bins = append(bins, SplitBin{From: first, To: first + width - 1, Packets: upTo - counted})
		counted = upTo
	}
	return bins
}
