package pipeline

import (
	"sync"
	"time"
)

// batchSizer says how many wins a worker posts in one transaction. The more there are, the less each costs: a player
// with several wins has one line, one change of balance and one message for all of them. But as long as the transaction
// runs nobody else can touch its players' balances, and what takes too long is rolled back. So it grows while the
// ledger is quick, and shrinks when the ledger is slow or away. The workers of a node share one: what one has learned
// of the ledger the others need not find out with small batches of their own.
type batchSizer struct {
	mu    sync.Mutex
	wins  int // in the next batch
	most  int
	least int
}

const (
	mostWins   = 4000 // in one transaction, where the settings do not say
	firstWins  = 500
	fewestWins = 50
	// for a batch, told and removed. The workers of a node wait for each other where they pay the same players.
	quickEnough = 1500 * time.Millisecond
	tooSlow     = 3 * time.Second // a transaction is rolled back after 8 s
)

func newBatchSizer(most int) *batchSizer {
	return &batchSizer{wins: min(firstWins, most), most: most, least: min(fewestWins, most)}
}

// now is how many wins the next batch has.
func (b *batchSizer) now() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wins
}

// settled notes how long a batch of so many wins took that was begun when batches were to have wanted of them, and
// whether the back ends worked. One that is not full says nothing about larger ones.
func (b *batchSizer) settled(wanted, wins int, took time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !ok || took > tooSlow:
		b.wins = min(b.wins, max(wanted/2, b.least))
	case took < quickEnough && wins >= b.wins/2:
		b.wins = min(b.wins*2, b.most)
	}
}

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
