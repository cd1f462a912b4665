package reconcile

import (
	"math/bits"
	"sort"

	"redrain/rain"
)

// holding is the packets of a shard by the moves. Each has an index, so a set of them takes a bit for each.
type holding struct {
	ranges rain.Numbers // in rising order, without overlaps
	before []int        // the number of packets before each range
	count  int
}

func newHolding(ranges rain.Numbers) holding {
	h := holding{ranges: ranges, before: make([]int, len(ranges))}
	for i, r := range ranges {
		h.before[i] = h.count
		h.count += r.Count()
	}
	return h
}

// index returns the index of a packet. ok is false if it is not in the holding.
func (h *holding) index(packet int) (i int, ok bool) {
	n := h.rangeAt(packet)
	if n == len(h.ranges) || h.ranges[n].First > packet {
		return 0, false
	}
	return h.before[n] + packet - h.ranges[n].First, true
}

// rangeAt returns the first range that ends at a packet or after it.
func (h *holding) rangeAt(packet int) int {
	return sort.Search(len(h.ranges), func(i int) bool { return h.ranges[i].Last >= packet })
}

// put adds packets to a set. It returns those outside the holding, and those that were in the set before.
func (h *holding) put(s *set, numbers rain.Numbers) (foreign, twice rain.Numbers) {
	for _, r := range numbers {
		next := r.First
		for n := h.rangeAt(r.First); n < len(h.ranges) && h.ranges[n].First <= r.Last; n++ {
			first, last := max(r.First, h.ranges[n].First), min(r.Last, h.ranges[n].Last)
			if next < first {
				foreign = append(foreign, rain.Range{First: next, Last: first - 1})
			}
			at := h.before[n] - h.ranges[n].First
			s.fill(first+at, last+at, h.count, func(i int) { twice = twice.Add(i - at) })
			next = last + 1
		}
		if next <= r.Last {
			foreign = append(foreign, rain.Range{First: next, Last: r.Last})
		}
	}
	return foreign, twice
}

// list returns the packets whose bits are set in the words that word returns.
func (h *holding) list(word func(w int) uint64) (numbers rain.Numbers) {
	n := 0
	for w := range (h.count + 63) / 64 {
		for left := word(w) & h.all(w); left != 0; {
			first := bits.TrailingZeros64(left)
			run := bits.TrailingZeros64(^(left >> first))
			left &^= (uint64(1)<<run - 1) << first
			for i, end := w*64+first, w*64+first+run; i < end; {
				for i >= h.before[n]+h.ranges[n].Count() {
					n++
				}
				at := h.ranges[n].First - h.before[n]
				last := min(end-1+at, h.ranges[n].Last)
				if n := len(numbers) - 1; n >= 0 && numbers[n].Last+1 == i+at {
					numbers[n].Last = last
				} else {
					numbers = append(numbers, rain.Range{First: i + at, Last: last})
				}
				i = last - at + 1
			}
		}
	}
	return numbers
}

// all returns the w-th word of the full set.
func (h *holding) all(w int) uint64 {
	if left := h.count - w*64; left < 64 {
		return uint64(1)<<left - 1
	}
	return ^uint64(0)
}

// set is a subset of a holding. The zero value is empty.
type set struct{ words []uint64 }

// add adds an index to a set of size count. It returns false if the set had it before.
func (s *set) add(i, count int) bool {
	if s.words == nil {
		s.words = make([]uint64, (count+63)/64)
	}
	before := s.words[i/64]
	s.words[i/64] |= uint64(1) << (i % 64)
	return s.words[i/64] != before
}

// fill adds the indices from first to last to a set of size count. It calls twice for those that the set had before.
func (s *set) fill(first, last, count int, twice func(i int)) {
	if s.words == nil {
		s.words = make([]uint64, (count+63)/64)
	}
	for w := first / 64; w <= last/64; w++ {
		mask := ^uint64(0)
		if w == first/64 {
			mask <<= first % 64
		}
		if w == last/64 {
			mask &= ^uint64(0) >> (63 - last%64)
		}
		for before := s.words[w] & mask; before != 0; before &= before - 1 {
			twice(w*64 + bits.TrailingZeros64(before))
		}
		s.words[w] |= mask
	}
}

func (s *set) has(i int) bool { return s.word(i/64)&(uint64(1)<<(i%64)) != 0 }

func (s *set) word(w int) uint64 {
	if s.words == nil {
		return 0
	}
	return s.words[w]
}
