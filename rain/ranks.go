package rain

import (
	"slices"
	"sort"
)

const (
	// rankedBlocks is how many blocks of a split are looked at to rank its amounts: some 260,000 packets, and some
	// twenty milliseconds.
	rankedBlocks = 64
	// rankMargin is by how many percent the ranks of a larger split are lowered. All its blocks are cut in the same
	// way, so 64 of them show what the others are like: by the inequality of Dvoretzky, Kiefer and Wolfowitz 260,000
	// samples are wrong by one percent less than once in 10^12 campaigns. A rank is true, and sometimes too modest.
	rankMargin = 1
)

// Ranks tells how large an amount is among all packets of one campaign, whoever has won them.
type Ranks struct {
	least  [99]Money // least[p-1]: an amount above it is larger than p percent of the packets
	margin int
}

// Ranks makes the ranks of a campaign when they are asked for first, and keeps them; nil where there are no packets.
func (a *Amounts) Ranks() *Ranks {
	a.ranking.Do(func() { a.ranks = a.rank() })
	return a.ranks
}

func (a *Amounts) rank() *Ranks {
	r := &Ranks{}
	blocks := a.split.blocks()
	looked := min(blocks, rankedBlocks)
	if looked < blocks {
		r.margin = rankMargin
	}
	var amounts []Money
	for i := range looked {
		b := i * blocks / looked // evenly over the whole split
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

// Luck is how many of a hundred packets of the campaign hold less than an amount, rounded down; 0 where r is nil.
func (r *Ranks) Luck(amount Money) int {
	if r == nil {
		return 0
	}
	above := sort.Search(len(r.least), func(p int) bool { return r.least[p] >= amount })
	return max(0, above-r.margin)
}
