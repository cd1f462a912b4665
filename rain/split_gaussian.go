package rain

import "math/bits"

// splitGaussian draws each packet from the normal distribution around the mean, cut off at three deviations on both
// sides. The deviation is as large as the bounds let it be: the nearer of minimum and maximum is three deviations
// from the mean. Cut off alike on both sides, the distribution keeps its mean.
//
// What is drawn does not add up to the budget; spread sees to that.
func splitGaussian(amounts []Money, budget, least Money, most *Money, src *source) {
	n := Money(len(amounts))
	reach := gaussianReach(n, budget, least, most)
	rest := budget
	for i := range amounts {
		// In n-ths of a minor unit the mean is the budget, exactly. Rounded down after adding 0 … n-1, an amount is
		// a unit higher with just the chance that keeps its mean, and within the bounds, since these are whole.
		amounts[i] = (budget + src.normal(reach) + src.below(n)) / n
		rest -= amounts[i]
	}
	spread(amounts, rest, (budget-reach)/n, (budget+reach+n-1)/n, src)
}

// gaussianReach is how far a packet may be from the mean, in n-ths of a minor unit. It compares by division,
// because n × most may overflow.
func gaussianReach(n, budget, least Money, most *Money) Money {
	reach := budget - n*least
	if most != nil && *most <= (budget+reach)/n {
		reach = n*(*most) - budget
	}
	return reach
}

// spread adds the rest, which may be negative, to amounts that are within low … high and should stay there. Each
// gets a part in proportion to the room that it has up to the bound, so that all move a little and none runs into
// the bound. The parts are rounded so that they add up to the rest, up or down by chance in proportion: they are
// the steps of one sum that grows from a random start.
//
// The rest is no more than all the room there is.
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

// divide is (a × b + c) / d, rounded down. None is negative; the result has to fit.
func divide(a, b, c, d Money) Money {
	hi, lo := bits.Mul64(uint64(a), uint64(b))  //nolint:gosec // not negative
	lo, carry := bits.Add64(lo, uint64(c), 0)   //nolint:gosec // not negative
	q, _ := bits.Div64(hi+carry, lo, uint64(d)) //nolint:gosec // not negative
	return Money(q)                             //nolint:gosec // fits, says the caller
}

// normal is normally distributed around 0 and between -reach and reach, which are three deviations. It is exact to
// reach × 2^-63, and whole, rounded towards 0. It uses integers only: floating point need not give the same on each
// machine.
//
// It draws a place s, uniform in 0 … 1 of the reach, and keeps it with the probability exp(-(3s)²/2) (rejection,
// von Neumann 1951). That is nine times exp(-s²/2).
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

// survives tells whether so many coins in a row show heads, of which each does with the probability exp(-x), x
// being in 2^-64.
func (s *source) survives(x uint64, coins int) bool {
	for range coins {
		if !s.heads(x) {
			return false
		}
	}
	return true
}

// heads is true with the probability exp(-x), x being in 2^-64. It draws numbers while they fall, beginning below
// x: that k of them do has the probability x^k/k!, so that the sum over even k less that over odd k is the series
// of exp(-x) (von Neumann 1951, "Various techniques used in connection with random digits").
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
