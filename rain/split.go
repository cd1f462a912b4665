package rain

// SplitKind names a way to cut a budget into packets.
type SplitKind string

// The splits.
const (
	// DoubleMean (二倍均值) draws each packet uniformly between the minimum and twice the mean of what is left.
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

// SplitSpec is the part of a Spec that says how the budget is cut into packets.
type SplitSpec struct {
	Budget  Money     `json:"budget"`
	Packets int       `json:"packets"`
	Split   SplitKind `json:"split"`
	Min     Money     `json:"min"`
	Max     *Money    `json:"max"`     // nil: no maximum
	Amounts []Money   `json:"amounts"` // for the split List only
}

// Cut cuts a budget into packets: element i is packet number i. The same split and seed give the same amounts on every
// machine and in every version, because a campaign is rebuilt from them. The sum is the budget exactly and each amount
// is within min and max. An invalid split returns its Invalid.
//
// It takes 8 bytes for each packet.
func (s *SplitSpec) Cut(seed Seed) ([]Money, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s.cut(seed), nil
}

// cut cuts the budget of a valid split.
func (s *SplitSpec) cut(seed Seed) []Money {
	src := newSource(seed, "split")
	amounts := make([]Money, s.Packets)
	switch s.Split {
	case List:
		copy(amounts, s.Amounts)
	case Even:
		splitEven(amounts, s.Budget)
	case DoubleMean:
		splitDoubleMean(amounts, s.Budget, s.Min, s.Max, src)
	case LowVariance:
		splitLowVariance(amounts, s.Budget, s.Min, s.Max, src)
	case Gaussian:
		splitGaussian(amounts, s.Budget, s.Min, s.Max, src)
	}
	shuffle(amounts, src)
	return amounts
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

// splitDoubleMean draws each packet uniformly around the mean of what is left, from the minimum up to
// twice the mean (二倍均值法). Where the maximum cuts the upper end, the lower end rises as much, so that
// the mean stays and no rest gathers for the last packets. Twice the mean is rounded up with a probability
// equal to its fraction, for the same reason: rounding down always would leave the rest to the last packet.
func splitDoubleMean(amounts []Money, budget, least Money, most *Money, src *source) {
	n := Money(len(amounts))
	left := budget - n*least // what is handed out above the minimum
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

// splitLowVariance divides the budget into one share more than there are packets. Each packet gets a share, and
// the last share, with the remainder of the division, is split among them by double mean. Where the minimum is
// larger than a share, each packet gets the minimum instead.
func splitLowVariance(amounts []Money, budget, least Money, most *Money, src *source) {
	share := budget / (Money(len(amounts)) + 1)
	splitDoubleMean(amounts, budget, max(least, share), most, src)
}
