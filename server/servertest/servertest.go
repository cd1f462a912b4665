package servertest

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Stock takes a campaign's packets; store.Stock is one.
type Stock interface {
	Open(ctx context.Context, c *rain.Campaign, until int64) error
	Apply(ctx context.Context, c *rain.Campaign) error
}

// RainingCampaign opens a campaign with the given packets and a rain that is falling.
func RainingCampaign(b testing.TB, stock Stock, now int64, packets int) *rain.Campaign {
	b.Helper()
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Packets, spec.Budget, spec.WinsPerUser = "bench", "bench", packets,
		rain.Money(packets)*50, 1_000
	c := &rain.Campaign{ID: "c" + strings.ToLower(rand.Text()[:16]), Spec: spec, Status: rain.Open, Revision: 1}
	if err := stock.Open(b.Context(), c, now+60_000); err != nil {
		b.Fatal(err)
	}
	c.Revision++
	falling := rain.Rain{ID: "r", Campaign: c.ID, StartsAt: now - 15_000, Settings: rain.DefaultRain().Settings}
	falling.DurationMS, falling.DropsPerSecond, falling.FallMS = 600_000, 400, 600_000
	c.Rains = []rain.Rain{falling}
	if err := stock.Apply(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	return c
}

// EvenSpec returns a campaign of the sponsor "acme" with equal packets.
func EvenSpec(budget rain.Money, packets, shards int) rain.Spec {
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Split, spec.Budget, spec.Packets, spec.Shards = "Gala", "acme", rain.Even, budget,
		packets, shards
	return spec
}

// Campaigns holds a ledger's campaigns in memory.
type Campaigns map[string]*rain.Campaign

// Campaign returns a campaign, or posting.ErrUnknownCampaign.
func (m Campaigns) Campaign(_ context.Context, id string) (*rain.Campaign, error) {
	if c := m[id]; c != nil {
		return c.Clone(), nil
	}
	return nil, posting.ErrUnknownCampaign
}

// Live returns the campaigns that are not drained.
func (m Campaigns) Live(context.Context) ([]*rain.Campaign, error) {
	var live []*rain.Campaign
	for _, c := range m {
		if !c.Drained {
			live = append(live, c.Clone())
		}
	}
	return live, nil
}

// Leases are leases that all get who ask.
type Leases struct{}

// Lease gives the lease.
func (Leases) Lease(context.Context, string, string, time.Duration) (ledger.Tenure, error) {
	return ledger.Tenure{Term: 1}, nil
}

// UnderTerm checks nothing.
func (Leases) UnderTerm(ctx context.Context, _ string, _ int64) context.Context { return ctx }

// ReleaseLease does nothing.
func (Leases) ReleaseLease(context.Context, string, string) error { return nil }

// Log is a log in memory. The zero value is empty.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the text written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
