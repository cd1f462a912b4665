package rain

// DrawDoubleMean is the double-mean split before its packets are shuffled, so that tests can see
// whether a packet's turn changes what it gets.
func DrawDoubleMean(packets int, budget, least Money, most *Money, seed Seed) []Money {
	amounts := make([]Money, packets)
	splitDoubleMean(amounts, budget, least, most, newSource(seed, "test"))
	return amounts
}

// Source draws bounded numbers from a seed, as the splits do.
type Source struct{ src *source }

// NewSource starts the stream of one purpose.
func NewSource(seed Seed, purpose string) Source { return Source{newSource(seed, purpose)} }

// Below is uniform in 0 … n-1.
func (s Source) Below(n Money) Money { return s.src.below(n) }
