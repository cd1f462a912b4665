package pipeline

import (
	"sync"
	"time"

	"redrain/rain"
)

// history remembers the unsettled entries that this node published again, and the time of their next copy. JetStream
// forgets message ids after two minutes. Without this memory, an hour without the database would put hundreds of
// copies of each entry into the stream.
type history struct {
	patience time.Duration

	mu      sync.Mutex
	entries map[rain.EntryRef]attempt
}

type attempt struct {
	tries int
	due   time.Time
}

// longestWait is the most that an unsettled entry waits between two copies.
const longestWait = 5 * time.Minute

func newHistory(patience time.Duration) *history {
	return &history{patience: patience, entries: map[rain.EntryRef]attempt{}}
}

// due returns the entries that need a copy now.
func (h *history) due(entries []rain.Entry) []rain.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	due := make([]rain.Entry, 0, len(entries))
	for _, e := range entries {
		if !h.entries[e.Ref].due.After(now) {
			due = append(due, e)
		}
	}
	return due
}

// sent records that entries were published. Each time doubles the wait for the next copy.
func (h *history) sent(entries []rain.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for _, e := range entries {
		a := h.entries[e.Ref]
		a.due = now.Add(min(h.patience<<min(a.tries, 20), longestWait))
		a.tries++
		h.entries[e.Ref] = a
	}
}

// prune forgets entries that the outbox no longer shows.
func (h *history) prune() {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := time.Now().Add(-10 * h.patience)
	for ref, a := range h.entries {
		if a.due.Before(old) {
			delete(h.entries, ref)
		}
	}
}
