package campaigns

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"redrain/payout/ledger"
)

// tornLeases panic when they are asked for the second time.
type tornLeases struct{ asked *int }

// idleLedger has nothing that is due, and takes its time to say so.
type idleLedger struct {
	ReclaimerLedger

	due func(context.Context)
}

func (l tornLeases) Lease(context.Context, string, string, time.Duration) (ledger.Tenure, error) {
	if *l.asked++; *l.asked == 2 {
		panic("a torn ledger")
	}
	return ledger.Tenure{Term: 1}, nil
}

func (tornLeases) Fenced(ctx context.Context, _ string, _ int64) context.Context { return ctx }

func (nodeBooks) Fenced(ctx context.Context, _ string, _ int64) context.Context { return ctx }

func (tornLeases) ReleaseLease(context.Context, string, string) error { return nil }

func (l idleLedger) Due(ctx context.Context, _ int64, _ string, _ int) ([]ledger.DueCampaign, string, error) {
	l.due(ctx)
	return nil, "", nil
}

// TestAPanicEndsNoLease: the goroutine that keeps a lease outlives a panic, and asks again.
func TestAPanicEndsNoLease(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	t.Run("reconciliation", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			asked, books := 0, nodeBooks{fakeBooks: newFakeBooks()}
			p := NewProofs(ProofsOptions{
				Books: books, Campaigns: books, Leases: tornLeases{&asked}, Every: time.Hour, Log: log,
			})
			ctx, cancel := context.WithTimeout(t.Context(), 3*leaseRenew)
			defer cancel()
			if err := p.Run(ctx); err != nil || asked < 3 {
				t.Errorf("%v, asked %d times", err, asked)
			}
		})
	})
	t.Run("reclaimer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			asked, kept := 0, false
			r := NewReclaimer(ReclaimerOptions{
				Leases: tornLeases{&asked}, Ledger: idleLedger{due: func(ctx context.Context) {
					time.Sleep(3 * reclaimRenew) // the work goes on for so long
					kept = ctx.Err() == nil
				}},
				Clock: func() int64 { return 0 }, Log: log,
			})
			if err := r.lease.Under(t.Context(), r.sweep); err != nil || asked < 3 || !kept {
				t.Errorf("%v, asked %d times; work went on: %v", err, asked, kept)
			}
		})
	})
}
