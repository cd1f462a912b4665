package rain

import (
	"fmt"
	"math/bits"
)

// SplitKind names a way to cut a budget into packets.
type SplitKind string

// The splits.
const (
	// DoubleMean (二倍均值) draws each packet uniformly between the minimum and twice the mean of the rest.
	DoubleMean SplitKind = "double_mean"
	// LowVariance gives each packet the same share, and splits one more share among all by double mean.
	LowVariance SplitKind = "low_variance"
	// Gaussian draws each packet from a normal distribution around the mean, within the bounds.
	Gaussian SplitKind = "gaussian"
	// Even makes all packets equal, to one minor unit.
	Even SplitKind = "even"
	// List uses the amounts of the request.
	List SplitKind = "list"
)

// SplitKinds lists every split.
func SplitKinds() []SplitKind { return []SplitKind{DoubleMean, LowVariance, Gaussian, Even, List} }

// SplitSpec is the part of a Spec that describes how the budget is cut into packets.
type SplitSpec struct {
	Budget  Money     `json:"budget"`
	Packets int       `json:"packets"`
	Split   SplitKind `json:"split"`
	Min     Money     `json:"min"`
	Max     *Money    `json:"max"`     // nil: no maximum
	Amounts []Money   `json:"amounts"` // for the split List only
}

// Cut cuts a budget into packets: element i is packet number i. The same split and seed give the same amounts on
// every machine and in every version, because wins are paid by them. The sum is exactly the budget, and each amount
// is within min and max. If the split is invalid, Cut returns an Invalid.
//
// It takes 8 bytes for each packet. Amounts computes single ones without that memory.
func (s *SplitSpec) Cut(seed Seed) ([]Money, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	amounts := make([]Money, s.Packets)
	for b := range s.blocks() {
		s.fill(amounts[s.blockStart(b):s.blockStart(b+1)], b, seed)
	}
	return amounts, nil
}

// blockPackets is the most packets of a block. It takes 32 KB, and less than a tenth of a millisecond to compute.
const blockPackets = 4096

// A large split is cut into blocks of nearly the same number of packets, each with its share of the budget. Each
// block is cut separately, so a packet's amount costs the computation of one block. A campaign of a hundred million
// packets is ready as soon as one of a thousand. A list is one block.

// blocks returns the number of blocks of the split.
func (s *SplitSpec) blocks() int {
	if s.Split == List {
		return 1
	}
	return (s.Packets + blockPackets - 1) / blockPackets
}

// blockStart returns the first packet of a block.
func (s *SplitSpec) blockStart(b int) int {
	return int(divide(Money(s.Packets), Money(b), 0, Money(s.blocks())))
}

// blockOf returns the block of a packet.
func (s *SplitSpec) blockOf(packet int) int {
	b := int(divide(Money(packet), Money(s.blocks()), 0, Money(s.Packets)))
	for s.blockStart(b+1) <= packet {
		b++
	}
	return b
}

// before returns the budget of all blocks before one. Rounding down leaves every block within packets × min … packets
// × max, because these are integers.
func (s *SplitSpec) before(b int) Money {
	return divide(s.Budget, Money(s.blockStart(b)), 0, Money(s.Packets))
}

// fill cuts one block of a valid split.
func (s *SplitSpec) fill(amounts []Money, b int, seed Seed) {
	purpose := "split"
	if s.blocks() > 1 {
		purpose = fmt.Sprintf("split block %d", b)
	}
	src, budget := newSource(seed, purpose), s.before(b+1)-s.before(b)
	switch s.Split {
	case List:
		copy(amounts, s.Amounts)
	case Even:
		splitEven(amounts, budget)
	case DoubleMean:
		splitDoubleMean(amounts, budget, s.Min, s.Max, src)
	case LowVariance:
		splitLowVariance(amounts, budget, s.Min, s.Max, src)
	case Gaussian:
		splitGaussian(amounts, budget, s.Min, s.Max, src)
	}
	shuffle(amounts, src)
}

func splitEven(amounts []Money, budget Money) {
	n := Money(len(amounts))
	for i := range amounts {
		amounts[i] = budget / n
		if Money(i) < budget%n {
			amounts[i]++
		}
	}
}

// splitDoubleMean draws each packet uniformly around the mean of the rest, from the minimum up to twice the mean
// (二倍均值法). If the maximum cuts the upper end, the lower end rises as much. So the mean stays and no rest gathers
// for the last packets. Twice the mean is rounded up with a probability equal to its fraction, for the same reason.
// Rounding down always would leave the rest to the last packet.
func splitDoubleMean(amounts []Money, budget, least Money, most *Money, src *source) {
	n := Money(len(amounts))
	left := budget - n*least // the rest above the minimum
	width := left            // the most above the minimum that one packet may get
	if most != nil {
		width = *most - least
	}
	for i := range amounts {
		k := n - Money(i) // packets to fill, this one included
		x := left
		if k > 1 {
			twice := 2 * left / k
			if src.below(k) < 2*left%k {
				twice++
			}
			high := min(twice, width)
			x = twice - high + src.below(2*high-twice+1)
		}
		amounts[i] = least + x
		left -= x
	}
}

// splitLowVariance divides the budget into one share more than there are packets. Each packet gets a share. The last
// share, with the remainder of the division, is split among them by double mean. If the minimum is larger than a
// share, each packet gets the minimum instead.
func splitLowVariance(amounts []Money, budget, least Money, most *Money, src *source) {
	share := budget / (Money(len(amounts)) + 1)
	splitDoubleMean(amounts, budget, max(least, share), most, src)
}

// splitGaussian draws each packet from the normal distribution around the mean, cut off at three deviations on both
// sides. The deviation is as large as the bounds allow: the nearer of minimum and maximum is three deviations from
// the mean. The cut is symmetric, so the distribution keeps its mean.
//
// The drawn amounts do not add up to the budget; spread corrects that.
func splitGaussian(amounts []Money, budget, least Money, most *Money, src *source) {
	n := Money(len(amounts))
	reach := gaussianReach(n, budget, least, most)
	rest := budget
	for i := range amounts {
		// In n-ths of a minor unit the mean is exactly the budget. Adding 0 … n-1 by chance before rounding down
		// keeps the mean. The amount stays within the bounds, because these are integers.
		amounts[i] = (budget + src.normal(reach) + src.below(n)) / n
		rest -= amounts[i]
	}
	spread(amounts, rest, (budget-reach)/n, (budget+reach+n-1)/n, src)
}

// gaussianReach returns the largest distance of a packet from the mean, in n-ths of a minor unit. It compares by
// division, because n × most may overflow.
func gaussianReach(n, budget, least Money, most *Money) Money {
	reach := budget - n*least
	if most != nil && *most <= (budget+reach)/n {
		reach = n*(*most) - budget
	}
	return reach
}

// spread adds the rest, which may be negative, to amounts that are within low … high and must stay there. Each gets a
// part in proportion to its distance from the bound, so that all move a little and none crosses the bound. The parts
// are the steps of one running sum with a random start, so they add up to the rest exactly. Each is rounded up with a
// probability equal to its fraction.
//
// The rest must not exceed the distances of all amounts together.
func spread(amounts []Money, rest, low, high Money, src *source) {
	if rest == 0 {
		return
	}
	room, sign := func(a Money) Money { return high - a }, Money(1)
	if rest < 0 {
		room, sign = func(a Money) Money { return a - low }, -1
	}
	var all Money
	for _, a := range amounts {
		all += room(a)
	}
	start, passed, given := src.below(all), Money(0), Money(0)
	for i, a := range amounts {
		passed += room(a)
		upTo := divide(sign*rest, passed, start, all)
		amounts[i] += sign * (upTo - given)
		given = upTo
	}
}

// divide is (a × b + c) / d, rounded down. No argument may be negative, and the result must fit into Money.
func divide(a, b, c, d Money) Money {
	hi, lo := bits.Mul64(uint64(a), uint64(b))  //nolint:gosec // not negative
	lo, carry := bits.Add64(lo, uint64(c), 0)   //nolint:gosec // not negative
	q, _ := bits.Div64(hi+carry, lo, uint64(d)) //nolint:gosec // not negative
	return Money(q)                             //nolint:gosec // the caller guarantees that it fits
}

// normal returns an integer, normally distributed around 0 and cut off at -reach and reach, which are three
// deviations. It is exact to reach × 2^-63 before it is rounded towards 0. It uses integers only, because floating
// point may differ from machine to machine.
//
// It draws a position s, uniform in 0 … 1 of the reach, and keeps it with the probability exp(-(3s)²/2) (rejection,
// von Neumann 1951). The probability is exp(-s²/2), multiplied nine times.
func (s *source) normal(reach Money) Money {
	for {
		word := s.chacha.Uint64()
		place := word &^ 1 // in 2^-64; the lowest bit is the sign
		square, _ := bits.Mul64(place, place)
		if !s.survives(square/2, 9) {
			continue
		}
		distance, _ := bits.Mul64(uint64(reach), place) //nolint:gosec // not negative
		if word&1 == 1 {
			return -Money(distance) //nolint:gosec // less than reach
		}
		return Money(distance) //nolint:gosec // less than reach
	}
}

// survives is true with the probability exp(-x × coins), x in units of 2^-64: so many coins in a row show heads.
func (s *source) survives(x uint64, coins int) bool {
	for range coins {
		if !s.heads(x) {
			return false
		}
	}
	return true
}

// heads is true with the probability exp(-x), x in units of 2^-64. It draws numbers while each is less than the one
// before, the first less than x. It is true if their count is even. A run is at least k long with the probability
// x^k/k!. So an even length has 1 - x + x²/2! - …, which is exp(-x) (von Neumann 1951, "Various techniques used in
// connection with random digits").
func (s *source) heads(x uint64) bool {
	even := true
	for {
		next := s.chacha.Uint64()
		if next >= x {
			return even
		}
		x, even = next, !even
	}
}
