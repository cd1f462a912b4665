package servertest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"redrain/grab"
	"redrain/payout"
	"redrain/rain"
)

// RainingCampaign stocks a campaign of so many packets, with a rain that has been falling.
func RainingCampaign(b testing.TB, grabber *grab.Grabber, now int64, packets int) *rain.Campaign {
	b.Helper()
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Packets, spec.Budget, spec.WinsPerUser = "bench", "bench", packets,
		rain.Money(packets)*50, 1_000
	c := &rain.Campaign{ID: "c" + strings.ToLower(rand.Text()[:16]), Spec: spec, Status: rain.Open, Revision: 1}
	amounts, err := c.Cut(c.SplitSeed)
	if err != nil {
		b.Fatal(err)
	}
	if err := grabber.Open(b.Context(), c, amounts); err != nil {
		b.Fatal(err)
	}
	c.Revision++
	c.Rains = []rain.Rain{{
		ID: "r", Campaign: c.ID, StartsAt: now - 15_000, DurationMS: 600_000, DropsPerSecond: 400, FallMS: 600_000,
		Pacing: rain.PacingNone,
	}}
	if err := grabber.Apply(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	return c
}

// AskGate taps and puts the result in told, whoever knows it.
func AskGate(gate *grab.Gate, user, drop string, told chan<- grab.Result) {
	id, ok := rain.ParseDrop(drop)
	if !ok {
		panic(drop + " is no drop")
	}
	if r, known := gate.Tap(&grab.Tap{User: user, Drop: id, Asker: &waiting{told}}); known {
		told <- r
	}
}

// waiting is told of taps.
type waiting struct{ told chan<- grab.Result }

func (w *waiting) Answer(taps []*grab.Tap) {
	for _, t := range taps {
		w.told <- t.Result()
	}
}

// EvenSpec is a campaign of the sponsor "acme" whose packets are all the same.
func EvenSpec(budget rain.Money, packets, shards int) rain.Spec {
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Split, spec.Budget, spec.Packets, spec.Shards = "Gala", "acme", rain.Even, budget,
		packets, shards
	return spec
}

// Campaigns is a ledger's campaigns in memory.
type Campaigns map[string]*rain.Campaign

// Campaign finds one; payout.ErrUnknownCampaign where there is none.
func (m Campaigns) Campaign(_ context.Context, id string) (*rain.Campaign, error) {
	if c := m[id]; c != nil {
		return c.Clone(), nil
	}
	return nil, payout.ErrUnknownCampaign
}

// Live are those that are not drained.
func (m Campaigns) Live(context.Context) ([]*rain.Campaign, error) {
	var live []*rain.Campaign
	for _, c := range m {
		if !c.Drained {
			live = append(live, c.Clone())
		}
	}
	return live, nil
}
