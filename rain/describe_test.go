package rain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redrain/rain"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		amounts []rain.Money
		want    rain.SplitSummary
	}{
		"one packet": {[]rain.Money{88}, rain.SplitSummary{
			Packets: 1, Mean: 88, Smallest: 88, Median: 88, Largest: 88, Histogram: []rain.SplitBin{{88, 88, 1}},
		}},
		"a bin for each amount": {[]rain.Money{5, 1, 2, 2}, rain.SplitSummary{
			Packets: 4, Mean: 2.5, Deviation: 1.5, Smallest: 1, Median: 2, Largest: 5,
			Histogram: []rain.SplitBin{{1, 1, 1}, {2, 2, 2}, {3, 3, 0}, {4, 4, 0}, {5, 5, 1}},
		}},
		"an odd number of packets": {[]rain.Money{7, 1, 4}, rain.SplitSummary{
			Packets: 3, Mean: 4, Deviation: 2.45, Smallest: 1, Median: 4, Largest: 7,
			Histogram: []rain.SplitBin{{1, 1, 1}, {2, 2, 0}, {3, 3, 0}, {4, 4, 1}, {5, 5, 0}, {6, 6, 0}, {7, 7, 1}},
		}},
		"large amounts that are alike": {[]rain.Money{rain.MaxBudget, rain.MaxBudget, rain.MaxBudget - 1},
			rain.SplitSummary{
				Packets: 3, Mean: float64(rain.MaxBudget), Deviation: 0.47, Smallest: rain.MaxBudget - 1,
				Median: rain.MaxBudget, Largest: rain.MaxBudget,
				Histogram: []rain.SplitBin{{rain.MaxBudget - 1, rain.MaxBudget - 1, 1},
					{rain.MaxBudget, rain.MaxBudget, 2}},
			}},
		"a third of a unit": {[]rain.Money{1, 1, 2}, rain.SplitSummary{
			Packets: 3, Mean: 1.33, Deviation: 0.47, Smallest: 1, Median: 1, Largest: 2,
			Histogram: []rain.SplitBin{{1, 1, 2}, {2, 2, 1}},
		}},
		"bins of two units": {[]rain.Money{10, 31, 30, 12}, rain.SplitSummary{
			Packets: 4, Mean: 20.75, Deviation: 9.78, Smallest: 10, Median: 12, Largest: 31,
			Histogram: []rain.SplitBin{
				{10, 11, 1}, {12, 13, 1}, {14, 15, 0}, {16, 17, 0}, {18, 19, 0}, {20, 21, 0}, {22, 23, 0}, {24, 25, 0},
				{26, 27, 0}, {28, 29, 0}, {30, 31, 2},
			},
		}},
		"all the money there is": {[]rain.Money{rain.MaxBudget - 1, 1}, rain.SplitSummary{
			Packets: 2, Mean: float64(rain.MaxBudget) / 2, Deviation: float64(rain.MaxBudget)/2 - 1, Smallest: 1,
			Median: 1, Largest: rain.MaxBudget - 1,
			Histogram: func() (bins []rain.SplitBin) {
				const width = rain.MaxBudget / 20
				for i := range rain.Money(20) {
					bins = append(bins, rain.SplitBin{From: 1 + i*width, To: (i + 1) * width})
				}
				bins[0].Packets, bins[19].Packets = 1, 1
				return bins
			}(),
		}},
	} {
		if diff := cmp.Diff(tc.want, rain.Describe(tc.amounts), cmpopts.EquateApprox(1e-14, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
