package live

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestLatencyBuckets: the buckets follow each other without a gap, and none is wider than an eighth of its times.
func TestLatencyBuckets(t *testing.T) {
	for i := range latencyBuckets - 1 {
		from, to := bucketFrom(i), bucketFrom(i+1)
		first, last := time.Duration(from)*time.Microsecond, time.Duration(to)*time.Microsecond-time.Nanosecond
		if latencyBucket(first) != i || latencyBucket(last) != i {
			t.Errorf("%s and %s are in the buckets %d and %d, want %d", first, last, latencyBucket(first),
				latencyBucket(last), i)
		}
		if from >= perDoubling && (to-from)/from > 1.0/perDoubling {
			t.Errorf("bucket %d from %v to %v is too wide", i, from, to)
		}
	}
	if latencyBucket(-time.Second) != 0 || latencyBucket(math.MaxInt64) != latencyBuckets-1 ||
		bucketFrom(latencyBuckets-1) < 120e6 {
		t.Error("values out of bounds are not in the outermost buckets")
	}
}

// TestLatencyPercentiles: of any times, the percentiles are within an eighth of the true ones.
func TestLatencyPercentiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var l latency
		took := make([]float64, 1+random.IntN(3_000))
		scale := math.Exp(random.Float64()*12 + 3) // 20 µs to 3 s
		for i := range took {
			took[i] = scale * math.Exp(random.NormFloat64()) // as latencies are: skewed
			l.add(time.Duration(took[i]) * time.Microsecond)
		}
		slices.Sort(took)
		var sum latencyCounts
		var w latencyWindow
		for bucket, n := range w.turn(&l) {
			sum[bucket] += n
		}
		for _, share := range []float64{0.5, 0.99} {
			want := took[int(math.Ceil(share*float64(len(took))))-1] / 1_000
			got := sum.percentile(share)
			if got == nil || math.Abs(*got-want) > want/perDoubling+0.001 {
				t.Errorf("%d times, percentile %v: %v ms, want %v", len(took), share, got, want)
			}
		}
	}
	if (&latencyCounts{}).percentile(0.5) != nil {
		t.Error("no taps have a percentile")
	}
}

// TestLatencyWindow: a value is reported for as many seconds as the window has.
func TestLatencyWindow(t *testing.T) {
	var l latency
	var w latencyWindow
	reported := func() (n int64) {
		for _, count := range w.turn(&l) {
			n += count
		}
		return n
	}
	l.add(time.Millisecond)
	var got []int64
	for second := range latencySeconds + 3 {
		if second == 2 {
			l.add(time.Second)
		}
		got = append(got, reported())
	}
	testenv.Equal(t, got, []int64{1, 1, 2, 2, 2, 1, 1, 0}, "reported")
}
