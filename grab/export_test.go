package grab

import "time"

// WaitForStock has taps wait for stock for so long at most. It is set before there are any.
func (g *Gate[T]) WaitForStock(atMost time.Duration) {
	for _, s := range g.shards {
		s.shortage.atMost = atMost
	}
}

// UnderWay is the number of taps that are with the script, or wait behind one that is.
func (g *Gate[T]) UnderWay() (n int) {
	for i := range g.stripes {
		for _, p := range g.stripes[i].players {
			n += len(p.undecidedTaps)
		}
	}
	return n
}
