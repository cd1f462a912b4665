package grab

// bucket is a token bucket for a player's taps. It holds the taps of one second. It runs on the cluster's time. A
// player on several nodes has a bucket on each, with a part of the rate.
type bucket struct {
	tokens float64
	at     int64 // time of the count; 0: never, and the bucket is full
}

// bucketFillsIn is the time in which an empty bucket fills, in milliseconds, or somewhat longer at a rate below one.
const bucketFillsIn = 1000

// take takes one token if there is one. The rate is tokens per second and in one burst, shared among nodes; a burst
// is at least one tap.
func (b *bucket) take(now int64, rate, nodes int) bool {
	perSecond := float64(rate) / float64(max(nodes, 1))
	full := max(perSecond, 1)
	if b.at == 0 {
		b.tokens = full
	} else { // a clock that was set back costs the time it was set back by, and no more
		b.tokens = min(full, b.tokens+float64(max(now-b.at, 0))*perSecond/1000)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
