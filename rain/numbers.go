package rain

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Range holds the numbers of packets from First to Last, both included.
type Range struct{ First, Last int }

// Count returns the number of packets in the range.
func (r Range) Count() int { return r.Last - r.First + 1 }

// Numbers is a list of packet numbers as ranges, in the order in which they are given out.
type Numbers []Range

// ErrNumbers is returned by ParseNumbers for a text that Numbers.String does not write.
var ErrNumbers = errors.New("not ranges of packets' numbers")

// ParseNumbers is the inverse of Numbers.String: "0-62499 812-900". It refuses ranges outside the campaign and
// backward ranges. It does not check for overlaps.
func ParseNumbers(text string, packets int) (Numbers, error) {
	if text == "" {
		return nil, nil
	}
	numbers := make(Numbers, 0, strings.Count(text, " ")+1)
	for part := range strings.SplitSeq(text, " ") {
		r, ok := parseRange(part)
		if !ok || r.Last >= packets {
			return nil, ErrNumbers
		}
		numbers = append(numbers, r)
	}
	return numbers, nil
}

func parseRange(part string) (Range, bool) {
	first, rest, ok1 := digits(part)
	if !ok1 || rest == "" || rest[0] != '-' {
		return Range{}, false
	}
	last, rest, ok2 := digits(rest[1:])
	return Range{int(first), int(last)}, ok2 && rest == "" && first <= last
}

// String writes the ranges, each as "first-last", with a space between two.
func (n Numbers) String() string { return string(n.Append(nil)) }

// Append writes the ranges as String does.
func (n Numbers) Append(b []byte) []byte {
	for i, r := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(r.First), 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, int64(r.Last), 10)
	}
	return b
}

// Count returns the number of packets in all ranges.
func (n Numbers) Count() (count int) {
	for _, r := range n {
		count += r.Count()
	}
	return count
}

// Each iterates over all numbers in order.
func (n Numbers) Each() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, r := range n {
			for packet := r.First; packet <= r.Last; packet++ {
				if !yield(packet) {
					return
				}
			}
		}
	}
}

// Add appends a number; one that follows the last range makes it longer.
func (n Numbers) Add(packet int) Numbers {
	if last := len(n) - 1; last >= 0 && n[last].Last+1 == packet {
		n[last].Last = packet
		return n
	}
	return append(n, Range{packet, packet})
}

// Take removes the first number and returns it; ok is false if there is none.
func (n *Numbers) Take() (packet int, ok bool) {
	if len(*n) == 0 {
		return 0, false
	}
	r := &(*n)[0]
	packet = r.First
	if r.First++; r.First > r.Last {
		*n = (*n)[1:]
	}
	return packet, true
}

// Remaining returns the numbers that were added more often than removed, in rising order.
func Remaining(came, gone Numbers) (rest Numbers) {
	change := make(map[int]int, 2*(len(came)+len(gone))) // of the count, from this number on
	for _, r := range came {
		change[r.First]++
		change[r.Last+1]--
	}
	for _, r := range gone {
		change[r.First]--
		change[r.Last+1]++
	}
	count, first := 0, 0
	for _, at := range slices.Sorted(maps.Keys(change)) {
		if count > 0 && at > first {
			if last := len(rest) - 1; last >= 0 && rest[last].Last+1 == first {
				rest[last].Last = at - 1
			} else {
				rest = append(rest, Range{first, at - 1})
			}
		}
		count += change[at]
		first = at
	}
	return rest
}
