package cluster_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"redrain/payout/ledger"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// tornLeases panic when they are asked for the second time.
type tornLeases struct {
	servertest.Leases
	asked int
}

func (l *tornLeases) Lease(context.Context, string, string, time.Duration) (ledger.Tenure, error) {
	if l.asked++; l.asked == 2 {
		panic("a torn ledger")
	}
	return ledger.Tenure{Term: 1}, nil
}

// TestAPanicEndsNoLease: the goroutine that keeps a lease outlives a panic, and asks again.
func TestAPanicEndsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases, kept := &tornLeases{}, false
		lease := cluster.NewLease(cluster.LeaseOptions{Leases: leases, Name: "work", TTL: 4 * time.Second,
			Log: slog.New(slog.DiscardHandler)})
		err := lease.Under(t.Context(), func(ctx context.Context) error {
			<-time.After(3500 * time.Millisecond) // of the bubble
			kept = ctx.Err() == nil
			return nil
		})
		if err != nil || leases.asked < 3 || !kept {
			t.Errorf("%v, asked %d times; work went on: %v", err, leases.asked, kept)
		}
	})
}
