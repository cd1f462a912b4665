package pipeline

import (
	"testing"

	"redrain/rain"
)

// TestReclaimsFillABatch: they take as many statements as several wins, so a batch is full of fewer of them.
func TestReclaimsFillABatch(t *testing.T) {
	t.Parallel()
	reclaims := make([]delivery, 100)
	for i := range reclaims {
		reclaims[i].entry.Reclaim = &rain.Reclaim{}
	}
	if n, wins := batchOf(reclaims, 5*reclaimWins); n != 5 || wins != 5*reclaimWins {
		t.Errorf("%d reclaims are a batch of %d", n, wins)
	}
}
