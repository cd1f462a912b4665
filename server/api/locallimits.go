package api

import (
	"sync"
	"time"
)

// localKeys is how many names and addresses a node counts by itself in a minute; of more it allows nothing.
const localKeys = 10_000

// localLimits count on this node alone, in whole minutes, while Redis cannot be asked. The zero value is usable.
type localLimits struct {
	mu     sync.Mutex
	minute int64
	taken  map[string]float64
}

// allow tells whether one more of a key is within the limit of this minute, and if not, when the next begins. now is
// Unix ms.
func (l *localLimits) allow(key string, most float64, now int64) (ok bool, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	minute := time.Minute.Milliseconds()
	if l.taken == nil || l.minute != now/minute {
		l.minute, l.taken = now/minute, map[string]float64{}
	}
	if _, known := l.taken[key]; (known || len(l.taken) < localKeys) && l.taken[key] < most {
		l.taken[key]++
		return true, 0
	}
	return false, time.Duration(minute-now%minute) * time.Millisecond
}
