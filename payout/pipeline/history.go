package pipeline

import (
	"strconv"
	"sync"
	"time"

	"redrain/rain"
)

// history remembers which unsettled entries this node has published again, and when they are due once more. Without
// it an hour in which the database is away would put dozens of copies of each entry into the stream: its own memory
// of message ids ends after two minutes. An entry that is settled in time is never in here.
type history struct {
	patience time.Duration
	node     string

	mu      sync.Mutex
	entries map[rain.EntryRef]attempt
	stream  generation // as it was when last seen; zero: not seen yet
	losses  int        // how often the stream has lost messages
}

type attempt struct {
	tries int
	due   time.Time
}

// longestWait is the most that an unsettled entry waits between two copies.
const longestWait = 30 * time.Minute

func newHistory(patience time.Duration, node string) *history {
	return &history{patience: patience, node: node, entries: map[rain.EntryRef]attempt{}}
}

// due returns the entries that are to be published now.
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

// sent notes that entries were published: each time, the wait for the next time doubles.
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

// prune forgets entries that were due long ago and did not come: they are settled.
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

// lived notes the stream's state. Where it has lost messages since the last time, everything becomes due at once,
// and it returns true. It has lost some where they are gone other than by age; and where nothing in it waits for a
// settlement worker at two looks in a row, although entries that were published are not settled: somebody has
// deleted them. (At the first look they may have been settled since they were read.)
func (h *history) lived(now generation) (lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lost = h.stream != (generation{}) && h.stream.lost(now) || h.stream.idle && now.idle
	h.stream = now
	if lost {
		clear(h.entries)
		h.losses++
		h.stream.idle = false
	}
	return lost
}

// settles notes that nothing which was published waits too long.
func (h *history) settles() {
	h.mu.Lock()
	h.stream.idle = false
	h.mu.Unlock()
}

// copyID makes the id of a message another one than before a loss: JetStream remembers for a while the ids of messages
// that it has not any more.
func (h *history) copyID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.losses == 0 {
		return ""
	}
	return " " + h.node + " " + strconv.Itoa(h.losses)
}
