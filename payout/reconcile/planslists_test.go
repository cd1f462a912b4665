package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/history"
)

// askPlayerLists calls all functions of lists of players.
func askPlayerLists(t testing.TB, l *ledger.Ledger) error {
	t.Helper()
	ctx := t.Context()
	if _, _, err := l.Lists.ListLists(ctx, "a", 1); err != nil {
		return err
	}
	if _, err := l.Lists.Heads(ctx); err != nil {
		return err
	}
	if _, _, err := l.Lists.Members(ctx, "guests", "u", 1); err != nil {
		return err
	}
	if _, err := l.Lists.Among(ctx, "guests", []string{"u1", "u2"}); err != nil {
		return err
	}
	if _, err := l.Lists.Import(ctx, "guests", true, slices.Values([][]string{{"u1", "u3"}})); err != nil {
		return err
	}
	if _, err := l.Lists.Remove(ctx, "guests", []string{"u3"}); err != nil {
		return err
	}
	return l.Lists.Delete(ctx, "guests")
}

// askCampaigns lists campaigns in each order and by each condition, two pages if possible.
func askCampaigns(ctx context.Context, b *paytest.Books) error {
	now := b.Clock.Now()
	for _, q := range []ledger.CampaignQuery{
		{}, {Upwards: true}, {Order: ledger.ByExpiry}, {Order: ledger.ByExpiry, Upwards: true},
		{Order: ledger.ByName}, {Order: ledger.ByName, Upwards: true}, {Order: ledger.ByBudget},
		{Order: ledger.ByBudget, Upwards: true}, {Sponsor: "acme"}, {Words: []string{"a", "c"}},
		{State: rain.StateRaining, Now: now}, {State: rain.StateReady, Now: now}, {State: string(rain.Closed)},
		{State: string(rain.Closed), Order: ledger.ByName},
		{State: string(rain.Paused)}, {State: string(rain.Paused), Order: ledger.ByName, Sponsor: "acme"},
	} {
		q.Limit = 1
		_, next, err := b.ListCampaigns(ctx, q)
		if err != nil {
			return err
		}
		if q.State == "" && next == "" {
			return errors.New("no second page")
		}
		if q.After = next; next != "" {
			if _, _, err = b.ListCampaigns(ctx, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// askFigures writes, thins, reads and deletes a campaign's figures.
func askFigures(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	table := history.NewTable(b.DB)
	ask(t,
		func() error { return table.Add(ctx, map[string]history.Row{"c1": {At: 1, SpanMS: 1_000}}) },
		func() error { _, err := table.Thin(ctx, 1_000, 60_000, 120_000); return err },
		func() error { _, err := table.Read(ctx, "c1", 0, 1_000_000, 0); return err },
		func() error { _, err := table.Forget(ctx, 120_000); return err },
	)
}
