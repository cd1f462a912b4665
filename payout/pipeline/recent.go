package pipeline

import (
	"sync"
	"time"

	"redrain/rain"
)

// recent is a set of entries that forgets: each is remembered for at least a while, and at most twice as long. It
// only saves the work of publishing twice.
type recent struct {
	keep time.Duration

	mu          sync.Mutex
	now, before map[rain.EntryRef]struct{}
	turned      time.Time
}

func newRecent(keep time.Duration) *recent {
	return &recent{keep: keep, now: map[rain.EntryRef]struct{}{}, turned: time.Now()}
}

func (r *recent) add(ref rain.EntryRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	r.now[ref] = struct{}{}
}

// unknown are the entries that are not in the set.
func (r *recent) unknown(entries []rain.Entry) []rain.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	if len(r.now)+len(r.before) == 0 {
		return entries
	}
	rest := make([]rain.Entry, 0, len(entries))
	for _, e := range entries {
		_, a := r.now[e.Ref]
		if _, b := r.before[e.Ref]; !a && !b {
			rest = append(rest, e)
		}
	}
	return rest
}

// turn begins a new set where the time has come, and drops the one before the last.
func (r *recent) turn() {
	if time.Since(r.turned) >= r.keep {
		r.before, r.now, r.turned = r.now, map[rain.EntryRef]struct{}{}, time.Now()
	}
}
