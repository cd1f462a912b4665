package cli

import (
	"context"
	"fmt"

	"redrain/internal/operator"
	"redrain/rain"
)

type reconcileCmd struct{ oneCampaign }

// Run shows where the campaign's money is. It fails where a cent is missing.
func (c *reconcileCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, client *operator.Client) error {
		r, err := client.Reconciliation(ctx, c.Campaign)
		if err != nil {
			return err
		}
		if err := c.show(app, r, func(t *table) { t.reconciliation(r) }); err != nil {
			return err
		}
		if !r.Balanced {
			return fmt.Errorf("the books of campaign %s do not balance: the difference is %s", c.Campaign, r.Difference)
		}
		return nil
	})
}

func (t *table) reconciliation(r operator.Reconciliation) {
	for _, line := range []struct {
		name   string
		amount rain.Money
	}{
		{"funded", r.Funded}, {"paid", r.Paid}, {"reclaimed", r.Reclaimed}, {"stock", r.Stock},
		{"unsettled", r.Unsettled}, {"dead letters", r.Dead}, {"difference", r.Difference},
	} {
		t.row(line.name, fmt.Sprintf("%18s", line.amount))
	}
	for _, f := range r.Findings {
		t.row("finding", f)
	}
	if r.Balanced {
		t.row("balanced", "every cent is accounted for")
	}
}
