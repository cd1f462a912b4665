package pipeline

import (
	"sync"
	"time"
)

// batchSizer sets the number of wins in one transaction. Large batches cost less per win: a player with several wins
// has one line, one change of balance and one message for all of them. But a transaction locks its players' balances,
// and one that takes too long is rolled back. So the number grows while the ledger is quick, and shrinks when the
// ledger is slow or unreachable. The workers of a node share one sizer.
type batchSizer struct {
	mu    sync.Mutex
	wins  int // in the next batch
	most  int
	least int
}

const (
	mostWins   = 4000 // in one transaction; the default of BatchWins
	firstWins  = 500
	fewestWins = 50
	// A batch that settles within this time may grow. The workers of a node wait for each other if they pay the same
	// players.
	quickEnough = 1500 * time.Millisecond
	tooSlow     = 3 * time.Second // a transaction is rolled back after 8 s
)

func newBatchSizer(most int) *batchSizer {
	return &batchSizer{wins: min(firstWins, most), most: most, least: min(fewestWins, most)}
}

// now returns the number of wins for the next batch.
func (b *batchSizer) now() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wins
}

// settled records the duration of a batch that was begun with the target wanted, and whether the back ends worked. A
// batch that is not full says nothing about larger ones.
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

// fetchSizer sets the number of messages that a worker fetches at once: about two batches, by the mean size of the
// last messages. With more, the other workers would be idle at the end of a storm, and messages would wait while
// their ackWait runs. The workers of a node share one sizer.
type fetchSizer struct {
	mu   sync.Mutex
	mean float64 // wins in a message, recently
}

const (
	batchesAtOnce = 2
	mostBatches   = 4 * batchesAtOnce // a worker keeps at most this many batches of one fetch, and nacks the rest
	mostMessages  = 1000
	meanOver      = 32 // approximate number of messages in the mean
)

// newFetchSizer makes a sizer that expects the first messages of a storm, which hold few wins.
func newFetchSizer(batch int) *fetchSizer {
	return &fetchSizer{mean: float64(batch) / meanOver}
}

// messages returns the number of messages to fetch for a batch of so many wins.
func (p *fetchSizer) messages(batch int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(min(max(float64(batchesAtOnce*batch)/p.mean, 1), mostMessages))
}

// held records the number of wins in a message.
func (p *fetchSizer) held(wins int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mean += (max(float64(wins), 1) - p.mean) / meanOver
}
