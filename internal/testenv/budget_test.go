package testenv

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// TestParallelUsesTheBudgetAndNoMore: as many run side by side as fit in, whatever the number of processors.
func TestParallelUsesTheBudgetAndNoMore(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short nothing waits for the budget")
	}
	var running, most atomic.Int64
	t.Run("tests", func(t *testing.T) {
		for i := range 4 * budgetSize / Medium {
			t.Run(strconv.FormatInt(i, 10), func(t *testing.T) {
				Parallel(t, Medium)
				defer running.Add(-Medium)
				now := running.Add(Medium)
				if now == budgetSize && budget.TryAcquire(1) {
					budget.Release(1)
					t.Error("all of the budget is used, and there is room")
				}
				for before := most.Load(); now > before && !most.CompareAndSwap(before, now); {
					before = most.Load()
				}
				Eventually(t, time.Minute, "the budget is used up", func() bool { return most.Load() >= budgetSize })
			})
		}
	})
	if got := most.Load(); got != budgetSize {
		t.Errorf("a load of %d side by side, want %d", got, budgetSize)
	}
}
