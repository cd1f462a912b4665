package rain

import "fmt"

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
