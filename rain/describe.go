package rain

import (
	"math"
	"slices"
)

// maxBins is the largest number of bins in a histogram.
const maxBins = 20

// SplitSummary describes a split to an operator before money is bound to it. Amounts are in minor units.
type SplitSummary struct {
	Packets   int        `json:"packets"`
	Mean      float64    `json:"mean"`      // to two decimals of a minor unit
	Deviation float64    `json:"deviation"` // standard deviation, to two decimals as well
	Smallest  Money      `json:"smallest"`
	Median    Money      `json:"median"` // half of the packets hold this or less
	Largest   Money      `json:"largest"`
	Histogram []SplitBin `json:"histogram"`
}

// SplitBin counts the packets that hold From to To, both included. All bins are equally wide, so the last one may
// reach beyond the largest packet.
type SplitBin struct {
	From    Money `json:"from"`
	To      Money `json:"to"`
	Packets int   `json:"packets"`
}

// Describe summarizes the amounts of a split. There must be at least one, and their sum must fit into Money. It sorts
// them in place to save the memory of a copy.
func Describe(amounts []Money) SplitSummary {
	slices.Sort(amounts)
	n := len(amounts)
	var sum Money
	for _, a := range amounts {
		sum += a
	}
	mean, squares := float64(sum)/float64(n), 0.0
	for _, a := range amounts {
		squares += (float64(a) - mean) * (float64(a) - mean)
	}
	return SplitSummary{
		Packets: n, Mean: twoDecimals(mean), Deviation: twoDecimals(math.Sqrt(squares / float64(n))),
		Smallest: amounts[0], Median: amounts[(n-1)/2], Largest: amounts[n-1], Histogram: histogram(amounts),
	}
}

func twoDecimals(x float64) float64 { return math.Round(x*100) / 100 }

// histogram counts the amounts, which must be sorted, in at most maxBins bins.
func histogram(sorted []Money) []SplitBin {
	first, last := sorted[0], sorted[len(sorted)-1]
	width := (last-first)/maxBins + 1
	bins := make([]SplitBin, 0, maxBins)
	for counted := 0; counted < len(sorted); first += width {
		upTo, _ := slices.BinarySearch(sorted, first+width)
		bins = append(bins, SplitBin{From: first, To: first + width - 1, Packets: upTo - counted})
		counted = upTo
	}
	return bins
}
