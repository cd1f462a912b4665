package pipeline

import "sync"

// fetchSizer says how many messages a worker fetches at once: as many as make about two batches, by the mean of
// what the last messages held. With more, the other workers have nothing to do at the end of a storm, and a fetched
// message waits for its turn while the time for its acknowledgement runs. The workers of a node share one.
type fetchSizer struct {
	mu   sync.Mutex
	mean float64 // wins in a message, lately
}

const (
	batchesAtOnce = 2
	mostBatches   = 4 * batchesAtOnce
	mostMessages  = 1000
	meanOver      = 32 // messages that the mean looks back over, more or less
)

// newFetchSizer makes one that begins with the first messages of a storm, which hold little of a batch.
func newFetchSizer(batch int) *fetchSizer {
	return &fetchSizer{mean: float64(batch) / meanOver}
}

// messages is how many to ask for, where a batch has so many wins.
func (p *fetchSizer) messages(batch int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(min(max(float64(batchesAtOnce*batch)/p.mean, 1), mostMessages))
}

// held notes how many wins a message held.
func (p *fetchSizer) held(wins int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mean += (max(float64(wins), 1) - p.mean) / meanOver
}
