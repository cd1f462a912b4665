package pipeline

import "time"

// batchSizer says how many wins a worker posts in one transaction. The more there are, the less each costs: a player
// with several wins has one line, one change of balance and one message for all of them. But as long as the transaction
// runs nobody else can touch its players' balances, and what takes too long is rolled back. So it grows while the
// ledger is quick, and shrinks when the ledger is slow or away.
type batchSizer struct {
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

// settled notes how long a batch of so many wins took, and whether the back ends worked. One that is not full says
// nothing about larger ones.
func (b *batchSizer) settled(wins int, took time.Duration, ok bool) {
	switch {
	case !ok || took > tooSlow:
		b.wins = max(b.wins/2, b.least)
	case took < quickEnough && wins >= b.wins/2:
		b.wins = min(b.wins*2, b.most)
	}
}
