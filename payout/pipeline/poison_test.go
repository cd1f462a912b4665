package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestPoisonHoldsUpNobody: the database refuses one player, among hundreds of entries in the same batches. The others
// are settled while that one is still tried. Then it becomes a dead letter, and can be retried.
func TestPoisonHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p, c := opened(t, back, rain.Spec{Budget: 4000, Packets: 400})
			allow := p.Refuse(t, "poison")
			for i := range 400 {
				user := fmt.Sprintf("u%d", i)
				if i == 123 {
					user = "poison"
				}
				p.redis.Win("c1", 0, user)
			}
			p.publishOutbox(t, 0, 1)
			stop := p.node(t, RelayOptions{Patience: time.Hour}, SettlerOptions{Attempts: 1_000_000})
			p.others(t, c, 399)
			testenv.Eventually(t, time.Minute, "the poisoned claim is failed", func() bool {
				return p.ClaimState(t, "poison", "c1-123") == ledger.StateFailed
			})
			stop()
			p.node(t, RelayOptions{Patience: time.Hour}, SettlerOptions{Attempts: 3})
			if d := <-p.dead; d.User != "poison" || !strings.Contains(d.Reason, paytest.Refused) {
				t.Errorf("%+v", d)
			}
			testenv.Eventually(t, time.Minute, "the outbox is empty", func() bool { return p.redis.Waiting() == 0 })
			if info := p.consumer(t); info.NumPending != 0 || info.NumAckPending != 0 {
				t.Errorf("messages are left: %+v", info)
			}
			if got := p.Prove(t, c, p.redis); !got.Balanced || got.Dead != 10 {
				t.Errorf("%+v", got)
			}
			allow()
			testenv.Got(p.Retry(t.Context(), "c1-123")).Len(t, 1, "settled claims")
			p.WantBalance(t, booking.UserAccount("poison"), 10)
			p.CheckBooks(t)
		})
	}
}

// The count of a refused and later settled entry is deleted. Its claim is settled, and a later refusal of the same
// entry starts a new count.
func TestSettledEntryIsNoLongerCounted(t *testing.T) {
	t.Parallel()
	p, c := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	allow := p.Refuse(t, "poison")
	p.redis.Win("c1", 0, "poison")
	p.node(t, RelayOptions{Patience: time.Hour}, SettlerOptions{Attempts: 1_000_000})
	testenv.Eventually(t, time.Minute, "the try is counted", func() bool {
		return p.Count(t, "SELECT COUNT(*) FROM attempt") == 1
	})
	allow()
	p.eventuallySettled(t, time.Minute, c, 1)
	testenv.Eventually(t, time.Minute, "the count is forgotten", func() bool {
		return p.Count(t, "SELECT COUNT(*) FROM attempt")+p.Count(t, "SELECT COUNT(*) FROM attempt_claim") == 0
	})
}

// others waits until all other entries are settled.
func (p *pipeline) others(t *testing.T, c *rain.Campaign, n int64) {
	t.Helper()
	testenv.Eventually(t, time.Minute, fmt.Sprintf("%d others are paid", n), func() bool {
		paid, _, err := p.Paid(t.Context(), c.ID)
		return err == nil && paid == n && p.redis.Waiting() == 1
	})
}

// TestAnOutageCountsNothing: an unreachable database counts no try of an entry, only a failure in the metric. The entry
// stays in the outbox until the ledger has it.
func TestAnOutageCountsNothing(t *testing.T) {
	t.Parallel()
	p, c := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	p.redis.Win("c1", 0, "u1")
	p.publishOutbox(t, 0, 1)
	const outage = 4
	tries := 0
	reg := prometheus.NewRegistry()
	p.settler(t, SettlerOptions{Workers: 1, Attempts: 1, Registerer: reg}, func([]rain.Entry) error {
		if p.redis.Waiting() != 1 {
			t.Error("the entry was removed before it was posted")
		}
		if tries++; tries <= outage {
			return fmt.Errorf("no database: %w", context.DeadlineExceeded)
		}
		return nil
	})
	p.eventuallySettled(t, time.Minute, c, 1)
	n := p.Count(t, "SELECT COUNT(*) FROM attempt") + p.Count(t, "SELECT COUNT(*) FROM dead_letter")
	testenv.Equal(t, n, 0, "rows")
	const name = "redrain_payout_failures_total"
	want := fmt.Sprintf("# HELP %s Stream messages that could not be settled at a try, and are tried again.\n"+
		"# TYPE %s counter\n%s %d\n", name, name, name, outage)
	testenv.Must(t, testutil.GatherAndCompare(reg, strings.NewReader(want), name))
}
