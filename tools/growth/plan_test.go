package main

import "testing"

func TestThePlanHasTheCampaignsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rows, campaigns, want int }{
		{1_000_000, 0, 6}, {1_000_000, 500, 500}, {12, 1, 1}, {40, 2, 2},
	} {
		p := newPlan(c.rows, 1, c.campaigns)
		payouts := p.live
		for _, s := range p.steps {
			payouts += s
		}
		if got := len(p.campaigns()); got != c.want || payouts != c.rows {
			t.Errorf("%+v: %d campaigns with %d payouts", c, got, payouts)
		}
	}
}
