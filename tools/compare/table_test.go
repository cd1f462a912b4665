package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 2, 100}, 3},
	} {
		if got := median(c.of); got != c.want {
			t.Errorf("the median of %v is %v", c.of, got)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v", got)
	}
}

// The goal is the median of the rounds' ratios, not the ratio of the medians: each round measures both side by side.
func TestTheRatioIsThatOfTheRounds(t *testing.T) {
	l := line{Ours: []float64{10, 40, 90}, Other: []float64{10, 10, 30}, Goal: atLeast(3)}
	if diff := cmp.Diff([]float64{1, 4, 3}, l.ratios()); diff != "" {
		t.Error(diff)
	}
	if got := l.verdict(); got != "yes" {
		t.Errorf("median 3 of a goal of 3: %s", got)
	}
	l.Goal = atMost(2.9)
	if got := l.verdict(); got != "**no**" {
		t.Errorf("median 3 where 2.9 is the most: %s", got)
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	err := printTable(&b, []line{
		{What: "taps/s", Ours: []float64{75_000, 81_250}, Other: []float64{25_000, 25_000}, Than: "baseline",
			Goal: atLeast(3)},
		{What: "Redis calls for a tap", Ours: []float64{0.002}, Goal: atMost(0.01)},
		{What: "KB for a connection", Ours: []float64{12.3}, Other: []float64{7}, Than: "bare loop", Plain: true,
			Goal: atMost(10)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
|                       | redrain |  other |           | ratio | min … max |   goal | met    |
| --------------------- | ------: | -----: | --------- | ----: | --------: | -----: | ------ |
| taps/s                |  78.1 k | 25.0 k | baseline  |  3.12 |  3 … 3.25 |    ≥ 3 | yes    |
| Redis calls for a tap |  0.0020 |        |           |       |           | ≤ 0.01 | yes    |
| KB for a connection   |    12.3 |      7 | bare loop |  1.76 |           |   ≤ 10 | **no** |
`, "\n")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONHasEveryRound(t *testing.T) {
	var b bytes.Buffer
	in := []line{{Row: "taps", What: "taps/s", Ours: []float64{1, 2}, Other: []float64{3, 4}, Than: "baseline",
		Goal: atLeast(3)}}
	if err := printJSON(&b, in); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Lines []line `json:"lines"`
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out.Lines); diff != "" {
		t.Error(diff)
	}
}
