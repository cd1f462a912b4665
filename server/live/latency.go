package live

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// The buckets into which the times of taps are sorted: each microsecond below eight has one, and from there on each
// power of two has eight of the same width. So a bucket is an eighth of its times wide, at most, wherever they are.
// Nodes add each other's buckets up (store.NodeReport.Latency): to change them is to have wrong percentiles while an
// update rolls through.
const (
	perDoubling = 8
	// latencyBuckets reach beyond two minutes; what takes longer is in the last.
	latencyBuckets = 208
	// latencySeconds is over how many reports, one a second, a node adds up the times of its taps.
	latencySeconds = 5
)

// latencyCounts is how many taps there were in each bucket.
type latencyCounts [latencyBuckets]int64

// latency counts the times of taps since its node started. Any goroutine may add.
type latency struct{ buckets [latencyBuckets]atomic.Int64 }

func (l *latency) add(took time.Duration) { l.buckets[latencyBucket(took)].Add(1) }

// latencyBucket is the number of the bucket of a time.
func latencyBucket(took time.Duration) int {
	us := max(took.Microseconds(), 0)
	if us < perDoubling {
		return int(us)
	}
	shift := bits.Len64(uint64(us)) - bits.Len64(perDoubling) // us>>shift is perDoubling to twice that
	return min(shift*perDoubling+int(us>>shift), latencyBuckets-1)
}

// bucketFrom is the shortest time of a bucket, in microseconds.
func bucketFrom(bucket int) float64 {
	if bucket < 2*perDoubling {
		return float64(bucket)
	}
	shift := bucket/perDoubling - 1
	return float64((bucket%perDoubling + perDoubling) << shift)
}

// latencyWindow makes of the counts since the start those of the last seconds. It is its reporter's own.
type latencyWindow struct {
	past [latencySeconds]latencyCounts // a ring: the counts at the last reports
	next int                           // the oldest of them
}

// turn is called once a second. It returns what has been counted in the last latencySeconds, by bucket, without the
// empty ones.
func (w *latencyWindow) turn(l *latency) map[int]int64 {
	oldest := &w.past[w.next]
	w.next = (w.next + 1) % latencySeconds
	fresh := map[int]int64{}
	for i := range l.buckets {
		now := l.buckets[i].Load()
		if n := now - oldest[i]; n > 0 {
			fresh[i] = n
		}
		oldest[i] = now
	}
	return fresh
}

// percentile is the time, in milliseconds, within which a share of the taps was answered; nil where there was none.
// Within its bucket it is taken to lie where it would if the bucket's taps were spread evenly.
func (c *latencyCounts) percentile(share float64) *float64 {
	var total int64
	for _, n := range c {
		total += n
	}
	if total == 0 {
		return nil
	}
	rank := share * float64(total)
	var before float64
	for i, n := range c {
		if n == 0 || before+float64(n) < rank {
			before += float64(n)
			continue
		}
		from := bucketFrom(i)
		ms := (from + (bucketFrom(i+1)-from)*(rank-before)/float64(n)) / 1_000
		return &ms
	}
	return nil // not reached: the rank is at most the total
}
