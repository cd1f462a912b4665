package live

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// The buckets for the times of taps: one for each microsecond below eight, then eight of equal width for each power of
// two. So a bucket's width is at most an eighth of its times. Nodes add up each other's buckets
// (store.NodeReport.Latency): a change makes percentiles wrong during a rolling update.
const (
	perDoubling = 8
	// latencyBuckets reach beyond two minutes; longer times are in the last one.
	latencyBuckets = 208
	// latencySeconds is the number of reports, one a second, over which a node adds up the times of its taps.
	latencySeconds = 5
)

// latencyCounts holds the number of taps in each bucket.
type latencyCounts [latencyBuckets]int64

// latency counts the times of taps since the node's start. It is safe for concurrent use.
type latency struct{ buckets [latencyBuckets]atomic.Int64 }

func (l *latency) add(took time.Duration) { l.buckets[latencyBucket(took)].Add(1) }

// latencyBucket returns the number of a time's bucket.
func latencyBucket(took time.Duration) int {
	us := max(took.Microseconds(), 0)
	if us < perDoubling {
		return int(us)
	}
	shift := bits.Len64(uint64(us)) - bits.Len64(perDoubling) // us>>shift is from perDoubling to twice that
	return min(shift*perDoubling+int(us>>shift), latencyBuckets-1)
}

// bucketFrom returns the shortest time of a bucket, in microseconds.
func bucketFrom(bucket int) float64 {
	if bucket < 2*perDoubling {
		return float64(bucket)
	}
	shift := bucket/perDoubling - 1
	return float64((bucket%perDoubling + perDoubling) << shift)
}

// latencyWindow computes the counts of the last seconds from those since the start. It is not safe for concurrent use.
type latencyWindow struct {
	past [latencySeconds]latencyCounts // a ring: the counts at the last reports
	next int                           // index of the oldest
}

// turn is called once a second. It returns the counts of the last latencySeconds by bucket, without empty ones.
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

// percentile returns the time, in milliseconds, within which a share of the taps was answered; nil without taps. It
// interpolates linearly within a bucket.
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
