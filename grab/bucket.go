package grab

// bucket lets a player tap at a rate, and in one burst as often as in one second. It runs on the cluster's time.
type bucket struct {
	tokens float64
	at     int64 // when they were counted; 0: never, and the bucket is full
}

// take takes one token if there is one. rate is tokens per second and in one burst.
func (b *bucket) take(now int64, rate int) bool {
	full := float64(rate)
	switch {
	case b.at == 0:
		b.tokens, b.at = full, now
	default: // a clock that was set back costs the time it was set back by, and no more
		b.tokens = min(full, b.tokens+float64(max(now-b.at, 0))*full/1000)
		b.at = now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
