package rain

import (
	"slices"
	"sort"
)

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
