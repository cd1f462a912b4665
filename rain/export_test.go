package rain

import "errors"

// Draw is a split before its packets are shuffled, so that tests can compare the amounts by their turn.
func Draw(kind SplitKind, packets int, budget, least Money, most *Money, seed Seed) []Money {
	amounts, src := make([]Money, packets), newSource(seed, "test")
	map[SplitKind]func([]Money, Money, Money, *Money, *source){
		DoubleMean: splitDoubleMean, LowVariance: splitLowVariance, Gaussian: splitGaussian,
	}[kind](amounts, budget, least, most, src)
	return amounts
}

// Cut validates a campaign's spec, and cuts its budget.
func (s *Spec) Cut(seed Seed) ([]Money, error) {
	split := s.SplitSpec()
	amounts, err := split.Cut(seed)
	return amounts, errors.Join(s.Validate(), err)
}

// Spread adds a rest to amounts within bounds.
func Spread(amounts []Money, rest, low, high Money, seed Seed) {
	spread(amounts, rest, low, high, newSource(seed, "test"))
}

// Source draws bounded numbers from a seed, as the splits do.
type Source struct{ src *source }

// NewSource starts the stream of one purpose.
func NewSource(seed Seed, purpose string) Source { return Source{newSource(seed, purpose)} }

// Below is uniform in 0 … n-1.
func (s Source) Below(n Money) Money { return s.src.below(n) }

// XMax is the largest horizontal place of a drop.
const XMax = xMax

// LandedAt is the time in Unix ms when the last drop lands if the rain is not stopped before.
func (r *Rain) LandedAt() int64 { return r.landedAt() }

// BlockPackets is the most packets of a block of a split.
const BlockPackets = blockPackets

// Below reports whether a draw wins at the odds.
func Below(o Odds, luck uint64) bool { return o.below(luck) }
