package rain

import "math/bits"

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
